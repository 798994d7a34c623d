//! nyala-interp
