//! nyala-driver
