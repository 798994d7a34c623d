//! nyala-lower
