//! Renders the frames of a filter: compiles it when needed, and reports faults with their places.

use std::time::{Duration, Instant};

use nyala_driver::{Options, Session};
use nyala_span::Diagnostic;

use crate::compile::{Compiled, Faulted, compile};
use crate::errors::Fault;
use crate::interp::{Rules, interpret};
use crate::picture::Picture;
use crate::render::{Device, Target};
use crate::residual::residual;
use crate::translate::{Setup, UNROLL_LEAVES};
use crate::tree::Filter;

/// How frames are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// By the interpreter.
    Interpret,
    /// By native code for all pictures of this size.
    Compile,
    /// By native code after partial evaluation; for each frame if the filter uses `iter`.
    Specialize,
}

/// The options of rendering.
#[derive(Clone, Copy, Debug)]
pub struct RenderOptions {
    /// How frames are computed.
    pub engine: Engine,
    /// The boundary mode and the limit of terms.
    pub rules: Rules,
    /// Whether the filter is applied to the frame before; else each frame is computed from the picture.
    pub iterate: bool,
    /// The number of threads; 0 is one per core.
    pub threads: i32,
    /// The most leaves of an unrolled sum.
    pub unroll_leaves: usize,
    /// Where native code runs.
    pub device: Device,
}

impl Default for RenderOptions {
    fn default() -> RenderOptions {
        RenderOptions {
            engine: Engine::Specialize,
            rules: Rules::default(),
            iterate: false,
            threads: 0,
            unroll_leaves: UNROLL_LEAVES,
            device: Device::Cpu,
        }
    }
}

/// The times spent so far.
#[derive(Clone, Copy, Default, Debug)]
pub struct Times {
    /// Translation, partial evaluation and code generation.
    pub compile: Duration,
    /// How often that was done.
    pub n_compiled: usize,
    /// Computation of pixels.
    pub run: Duration,
}

/// A filter with its picture.
pub struct Renderer {
    filter: Filter,
    picture: Picture,
    options: RenderOptions,
    compiled: Option<(i32, Compiled)>,
    /// With `iterate`: the frame before the next one, and the number of the next one.
    before: Option<(i32, Picture)>,
    /// The times spent so far.
    pub times: Times,
}

impl Renderer {
    /// A filter for a picture. A gray picture gets the channels of a filter for colours.
    pub fn new(filter: Filter, picture: Picture, options: RenderOptions) -> Renderer {
        let picture = picture.widened(filter.channels.len());
        Renderer { filter, picture, options, compiled: None, before: None, times: Times::default() }
    }

    /// The filter.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The picture of a frame. Alpha is copied if the filter does not compute it.
    ///
    /// With `iterate`, frames are computed in order. A frame before the last one starts again.
    pub fn frame(&mut self, iter: i32) -> Result<Picture, Vec<Diagnostic>> {
        if !self.options.iterate {
            let result = self.apply(self.picture.clone(), iter)?;
            return Ok(result.with_alpha_of(&self.picture));
        }
        let (next, mut frame) = match self.before.take() {
            Some((next, before)) if next <= iter => (next, before),
            _ => (0, self.picture.clone()),
        };
        for number in next..=iter {
            let result = self.apply(frame.clone(), number)?;
            frame = result.with_alpha_of(&frame).widened(self.filter.channels.len());
        }
        self.before = Some((iter + 1, frame.clone()));
        Ok(frame)
    }

    fn apply(&mut self, picture: Picture, iter: i32) -> Result<Picture, Vec<Diagnostic>> {
        if self.options.engine == Engine::Interpret {
            return self.interpret(&picture, iter);
        }
        let compiled = self.compiled(&picture, iter)?;
        let start = Instant::now();
        let target = *compiled.target();
        let mut source = picture.with_margin(target.margin);
        source.fill_margin(target.setup.rules.boundary);
        let (n_channels, max_value) = (self.filter.channels.len(), source.max_value);
        let result = Picture::black(source.width, source.height, n_channels, max_value);
        let mut result = result.expect("a picture of this size exists").with_margin(target.margin);
        let applied = compiled.apply(&mut source, &mut result, iter, self.options.threads);
        self.compiled = Some((iter, compiled));
        self.times.run += start.elapsed();
        match applied {
            Ok(()) => Ok(result),
            Err(Faulted) => self.interpret(&source, iter),
        }
    }

    /// What partial evaluation leaves of the filter for a frame; none if a loop is left, which a filter cannot say.
    pub fn residual(&self, iter: i32) -> Option<Filter> {
        residual(&self.filter, &self.target(&self.picture, Some(iter)))
    }

    fn interpret(&mut self, picture: &Picture, iter: i32) -> Result<Picture, Vec<Diagnostic>> {
        let start = Instant::now();
        let result = interpret(&self.filter, picture, self.options.rules, iter);
        self.times.run += start.elapsed();
        result.map_err(|fault: Fault| vec![fault.to_diagnostic()])
    }

    /// The code for a frame: that of an earlier frame if it is the same.
    fn compiled(&mut self, picture: &Picture, iter: i32) -> Result<Compiled, Vec<Diagnostic>> {
        let specialize = self.options.engine == Engine::Specialize;
        let is_for_frame = specialize && self.filter.uses_iter;
        if let Some((frame, compiled)) = self.compiled.take()
            && (!is_for_frame || frame == iter)
            && compiled.target().setup.n_channels == picture.n_channels as i32
        {
            return Ok(compiled);
        }
        let start = Instant::now();
        let target = self.target(picture, is_for_frame.then_some(iter));
        let mut session = Session::new(Options::default());
        let compiled = compile(&mut session, &self.filter, &target);
        self.times.compile += start.elapsed();
        self.times.n_compiled += 1;
        compiled.ok_or(session.diagnostics)
    }

    /// What code for a picture is made for; with a frame if the code is for it only.
    fn target(&self, picture: &Picture, iter: Option<i32>) -> Target {
        let setup = Setup {
            rules: self.options.rules,
            specialize: self.options.engine == Engine::Specialize,
            unroll_leaves: self.options.unroll_leaves,
            n_channels: picture.n_channels as i32,
            size: (picture.width as i32, picture.height as i32),
        };
        Target::new(&self.filter, picture, setup, iter).on(self.options.device)
    }
}
