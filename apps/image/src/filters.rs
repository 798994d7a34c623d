//! The filters: their parameters, and their expressions in Impala.
//!
//! The expressions are values of the type `Filter` of `steps.impala`; their operators are those of the library `stencil`.

/// The channels that a filter is applied to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum On {
    /// Each channel separately.
    Channels,
    /// The brightness of the picture; the colours are scaled with it.
    Brightness,
    /// The brightness of the picture; the result has no colours.
    Gray,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param<'a> {
    pub name: &'a str,
    /// The value if none is given.
    pub default: Option<f64>,
    pub min: f64,
    pub max: f64,
    pub is_whole: bool,
    pub about: &'a str,
}

/// A filter with its name for users.
pub struct Filter {
    pub name: &'static str,
    pub about: &'static str,
    pub on: On,
    pub params: &'static [Param<'static>],
    /// The filter in Impala for these values of the parameters.
    pub code: fn(&[f64]) -> String,
}

const fn number(name: &'static str, default: f64, min: f64, max: f64, about: &'static str) -> Param<'static> {
    Param { name, default: Some(default), min, max, is_whole: false, about }
}

const fn whole(name: &'static str, default: i32, min: i32, max: i32, about: &'static str) -> Param<'static> {
    Param { name, default: Some(default as f64), min: min as f64, max: max as f64, is_whole: true, about }
}

const SIGMA: Param<'static> = number("sigma", 1.5, 0.2, 10.0, "how wide the bell is, in pixels");

pub const FILTERS: &[Filter] = &[
    Filter {
        name: "box",
        about: "the mean of a square",
        on: On::Channels,
        params: &[whole("radius", 1, 1, 30, "the number of pixels to each side")],
        code: |v| format!("soft({}, @|_i| {})", int(v[0]), float(1.0 / (2.0 * v[0] + 1.0))),
    },
    Filter {
        name: "gauss",
        about: "a Gaussian blur",
        on: On::Channels,
        params: &[SIGMA],
        code: |v| gauss(v[0]),
    },
    Filter {
        name: "unsharp",
        about: "unsharp masking with a Gaussian blur",
        on: On::Channels,
        params: &[number("amount", 1.0, -5.0, 20.0, "how much sharper"), SIGMA],
        code: |v| format!("sharp({}, {})", float(v[0]), gauss(v[1])),
    },
    Filter {
        name: "sobel",
        about: "the size of the gradient",
        on: On::Gray,
        params: &[number("gain", 1.0, 0.0, 100.0, "how bright the result is")],
        code: |v| format!("shown(gradient_size(), @|v| v * {})", float(v[0])),
    },
    Filter {
        name: "laplace",
        about: "the Laplacian: differences from adjacent pixels, on gray",
        on: On::Gray,
        params: &[number("gain", 1.0, 0.0, 100.0, "how strong the result is")],
        code: |v| format!("shown(laplace(), @|v| 0.5f + v * {})", float(v[0])),
    },
    Filter {
        name: "harris",
        about: "corners, bright",
        on: On::Gray,
        params: &[
            number("k", 0.04, 0.0, 0.25, "how much edges count against corners"),
            number("gain", 6.0, 0.0, 1000.0, "how bright corners are"),
        ],
        // The measure is proportional to the fourth power of contrast; its root also shows weak corners.
        code: |v| {
            let root = "cpu_sqrtf(cpu_sqrtf(cpu_fmaxf(v, 0f)))";
            format!("shown(harris({}), @|v| {root} * {})", float(v[0]), float(v[1]))
        },
    },
    Filter {
        name: "canny",
        about: "edges as lines of one pixel",
        on: On::Gray,
        params: &[
            number("low", 0.04, 0.0, 1.0, "what may continue an edge"),
            number("high", 0.1, 0.0, 1.0, "the gradient of a certain edge"),
        ],
        code: |v| format!("edges({}, {})", float(v[0]), float(v[1])),
    },
    Filter {
        name: "median",
        about: "the median of a square; removes specks",
        on: On::Channels,
        params: &[whole("radius", 1, 1, 3, "the number of pixels to each side")],
        code: |v| format!("applied(median({}))", int(v[0])),
    },
    Filter {
        name: "bilateral",
        about: "smooth where values are alike; edges stay",
        on: On::Channels,
        params: &[
            whole("radius", 3, 1, 7, "the number of pixels to each side"),
            number("space", 2.0, 0.2, 10.0, "the distance of close pixels"),
            number("range", 0.1, 0.005, 1.0, "what is alike"),
        ],
        code: |v| format!("applied(bilateral({}, {}, {}))", int(v[0]), float(v[1]), float(v[2])),
    },
    Filter {
        name: "grid",
        about: "a wide bilateral filter, by a grid",
        on: On::Brightness,
        params: &[
            whole("space", 8, 2, 64, "the distance of close pixels"),
            number("range", 0.1, 0.02, 1.0, "what is alike"),
        ],
        code: |v| format!("grid({}, {})", int(v[0]), float(v[1])),
    },
    Filter {
        name: "equalize",
        about: "all levels are used about as much",
        on: On::Brightness,
        params: &[],
        code: |_| "spread".to_owned(),
    },
    Filter {
        name: "local-laplacian",
        about: "more or less detail, without halos at edges",
        on: On::Brightness,
        params: &[
            number("detail", 1.0, -1.0, 10.0, "how much detail is added"),
            number("edge", 1.0, 0.0, 4.0, "the factor of large differences"),
            number("sigma", 0.15, 0.01, 1.0, "differences up to this are detail"),
            whole("levels", 6, 1, 10, "the number of levels of the pyramid"),
            whole("tones", 8, 2, 64, "the number of values for which it is computed"),
        ],
        code: |v| {
            let (sigma, detail, edge) = (float(v[2]), float(v[0]), float(v[1]));
            let remap = format!("Remap {{ sigma: {sigma}, detail: {detail}, edge: {edge} }}");
            format!("detailed({}, {}, {remap})", int(v[3]), int(v[4]))
        },
    },
    Filter {
        name: "jacobi",
        about: "smoothing by Jacobi's iteration for a membrane",
        on: On::Channels,
        params: &[whole("steps", 10, 1, 10000, "the number of iterations")],
        code: |v| format!("repeated({}, membrane())", int(v[0])),
    },
    Filter {
        name: "gray",
        about: "only the brightness",
        on: On::Gray,
        params: &[],
        code: |_| "copy_plane".to_owned(),
    },
];

/// A Gaussian with a window of visible weights.
fn gauss(sigma: f64) -> String {
    let radius = (3.0 * sigma).ceil();
    format!("soft({0}, bell_weights({0}, {1}))", int(radius), float(sigma))
}

/// A literal of the type `f32`.
pub fn float(value: f64) -> String {
    format!("{:?}f", value as f32)
}

/// A literal of the type `i32`.
pub fn int(value: f64) -> String {
    format!("{}", value as i32)
}
