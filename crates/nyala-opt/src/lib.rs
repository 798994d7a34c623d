//! nyala-opt
