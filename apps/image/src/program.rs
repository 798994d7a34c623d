//! The program in Impala for a chain of filters.
//!
//! It has one function, `run`, for pictures of any size: it reads the samples of a picture, filters planes of floats
//! between two buffers, and writes samples.

use std::fmt::Write as _;

use crate::chain::Step;
use crate::cli::{Bits, Boundary, Device};
use crate::filters::On;
use crate::own::Own;
use crate::schedule::Schedule;

/// The sources that all programs share: a name for diagnostics, and the text.
const STEPS: (&str, &str) = ("steps.impala", include_str!("steps.impala"));
const HOST: (&str, &str) = ("host.impala", include_str!("host.impala"));
const DEVICE: (&str, &str) = ("device.impala", include_str!("device.impala"));

/// The format of a picture in memory, with interleaved channels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// 1 or 3.
    pub colours: usize,
    pub has_alpha: bool,
    pub is_wide: bool,
}

impl Format {
    pub fn channels(self) -> usize {
        self.colours + usize::from(self.has_alpha)
    }

    fn pixel(self) -> &'static str {
        if self.is_wide { "u16" } else { "u8" }
    }

    /// Channel `c` of the picture at `data`, as numbers from 0 to 1.
    fn channel(self, data: &str, c: &str) -> String {
        let (pixel, n) = (self.pixel(), self.channels());
        format!("unit_{pixel}(interleaved({data}, width, height, {n}, {c}))")
    }
}

/// A chain of filters and its schedule.
pub struct Plan {
    pub steps: Vec<Step>,
    pub boundary: Boundary,
    pub outside: f32,
    pub schedule: Schedule,
    pub device: Device,
    pub threads: i32,
    pub bits: Option<Bits>,
    pub own: Own,
}

impl Plan {
    /// The format of the result for pictures of this format.
    pub fn result(&self, from: Format) -> Format {
        let is_gray = self.steps.iter().any(|step| step.on == On::Gray);
        let is_wide = self.bits.map_or(from.is_wide, |bits| bits == Bits::Sixteen);
        Format { colours: if is_gray { 1 } else { from.colours }, is_wide, ..from }
    }

    /// The sources of the program for pictures of this format; the text of [`Plan::chain`] is the last.
    pub fn sources(&self, from: Format) -> [(&'static str, String); 3] {
        let place = if self.device == Device::Cpu { HOST } else { DEVICE };
        let chain = ("chain.impala", self.chain(from));
        [(STEPS.0, STEPS.1.to_owned()), (place.0, place.1.to_owned()), chain]
    }

    /// The source that is specific to this program.
    pub fn chain(&self, from: Format) -> String {
        let boundary = match self.boundary {
            Boundary::Clamp => "clamp()".to_owned(),
            Boundary::Mirror => "mirror()".to_owned(),
            Boundary::Wrap => "wrap()".to_owned(),
            Boundary::Constant => format!("constant({:?}f)", self.outside),
        };
        let (accelerator, stage) = match self.device {
            Device::Cpu => ("", "Stencil"),
            Device::Opencl => {
                ("fn @accelerator() -> Accelerator { opencl_accelerator(0) }\n", "DeviceSchedule")
            }
            Device::Cuda => ("fn @accelerator() -> Accelerator { cuda_accelerator(0) }\n", "DeviceSchedule"),
        };
        let context = match self.device {
            Device::Cpu => format!("let threads = {};", self.threads),
            Device::Opencl | Device::Cuda => "let acc = accelerator();".to_owned(),
        };
        let threads = self.threads;
        let Schedule { one_pass, two_passes } = &self.schedule;
        let (body, to) = (self.body(from), self.result(from));
        let (from_pixel, to_pixel) = (from.pixel(), to.pixel());
        let uses = self.own.uses();
        let (n_from, n_to, n) = (from.channels(), to.channels(), from.colours);
        format!(
            "// uses: {uses}
fn @boundary() -> Boundary[f32] {{ {boundary} }}
fn @row_loop() -> Loop {{ threads({threads}) }}
{accelerator}fn @schedule(op: Stencil[f32, f32]) -> {stage}[f32, f32] {{
    {context}
    {one_pass}
}}
fn @two_passes(first: Stencil[f32, f32], second: Stencil[f32, f32]) -> {stage}[f32, f32] {{
    {context}
    {two_passes}
}}

extern fn run(source: &mut [{from_pixel}], result: &mut [{to_pixel}], memory: &mut [f32], more: &mut [f32],
              width: i32, height: i32) -> () {{
    let n = width * height;
    for from, to, first, second in on_planes(source, result, memory, more, {n_from} * n, {n_to} * n, {n} * n) {{
        let a = planes(first, width, height);
        let b = planes(second, width, height);
{body}    }}
}}
"
        )
    }

    /// The steps, one after the other.
    fn body(&self, from: Format) -> String {
        let to = self.result(from);
        let mut text = String::new();
        let mut line = |code: String| writeln!(text, "        {code};").expect("strings take all text");
        let mut n = from.colours;
        let (mut source, mut out) = ("a", "b");
        line(format!("for c in range(0, {n}) {{ copy_plane({}, a(c)) }}", from.channel("from", "c")));
        for step in &self.steps {
            let filter = &step.code;
            match step.on {
                On::Gray => {
                    line(format!("to_gray({n}, {source}, {out})"));
                    (source, out, n) = (out, source, 1);
                    line(format!("each_channel(1, {source}, {out}, {filter})"));
                }
                On::Channels => line(format!("each_channel({n}, {source}, {out}, {filter})")),
                On::Brightness => line(format!("brightness_only({n}, {source}, {out}, {filter})")),
            }
            (source, out) = (out, source);
        }
        line(format!("for c in range(0, {n}) {{ copy_plane({source}(c), {}) }}", to.channel("to", "c")));
        if from.has_alpha {
            let (before, after) = (from.colours.to_string(), to.colours.to_string());
            line(format!("copy_plane({}, {})", from.channel("from", &before), to.channel("to", &after)));
        }
        text
    }
}
