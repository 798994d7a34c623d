//! Residual programs, read back as filters: what our evaluator leaves of a filter, as a tree.
//!
//! The tree is for people and for the interpreter; compiled code does not need it. The code of a pixel is
//! translated with accesses as calls of a function, evaluated, and read back: operations become operators, branches
//! conditionals up to the block where they join. Large nodes that are used several times are definitions, unless
//! they depend on the picture. What a filter cannot say is not read back: loops that are left, and accesses to
//! matrices with unknown indices.

use std::collections::HashMap;
use std::rc::Rc;

use nyala_ir::{ArithOp, CmpOp, Cont, Def, Intrinsic, Linkage, MathOp, Node, Prim, World};
use nyala_span::Span;

use crate::check::initial_names;
use crate::ranges::Ranges;
use crate::render::Target;
use crate::translate::{Image, Place, translate};
use crate::tree::{BinaryOp, Expr, Filter, Op, Ty, UnaryOp, Var};

/// The largest tree that is read back.
const MAX_SIZE: usize = 200_000;

/// The least size of a node that is a definition if it is used several times.
const MIN_SHARED: usize = 8;

/// The filter after partial evaluation, if it can be read back.
pub fn residual(filter: &Filter, target: &Target) -> Option<Filter> {
    let world = code_of_pixel(filter, target);
    read_back(&nyala_opt::pipeline::evaluate(&world, nyala_opt::partial_eval::Options::default()).world)
}

/// Reads an evaluated program back as a filter. It exports a function of row and column, whose results are the
/// intensities, and imports one of row, column and channel, which is the picture.
pub fn read_back(world: &World) -> Option<Filter> {
    let (pixel, data) = world.conts().find(|(_, data)| matches!(data.linkage, Linkage::Exported(_)))?;
    let &[_, row, col, ret] = &data.params[..] else { return None };
    let mut reader =
        Reader { world, values: HashMap::new(), uses: uses(world), lets: vec![], ret, left: MAX_SIZE };
    for (param, var) in [(row, Var::ROW), (col, Var::COL)] {
        reader.values.insert(param, Rc::new(leaf(Op::Var(var), Ty::Int)));
    }
    let channels = reader.block(pixel, None)?;
    let channels = channels.iter().map(|channel| (**channel).clone()).collect();
    let lets = reader.lets;
    let mut names = initial_names();
    names.extend((0..lets.len()).map(|number| format!("v{number}")));
    Some(Filter { n_slots: names.len() as u32, names, lets, channels, uses_iter: false, is_alike: false })
}

/// How often each node is an operand or an argument.
fn uses(world: &World) -> HashMap<Def, u32> {
    let mut uses = HashMap::new();
    let mut count = |def: Def| *uses.entry(def).or_insert(0) += 1;
    world.defs().for_each(|def| world.for_each_operand(def, &mut count));
    world
        .conts()
        .filter_map(|(_, data)| data.body.as_ref())
        .flat_map(|body| &body.args)
        .copied()
        .for_each(count);
    uses
}

/// A program that exports the code of a pixel, a function of row and column. The picture is an imported function.
/// The operations of the filter must not fail.
pub fn code_of_pixel(filter: &Filter, target: &Target) -> World {
    let mut world = World::new();
    let (mem, int, float) = (world.types.mem(), world.types.prim(Prim::I32), world.types.prim(Prim::F32));
    let sampled = world.types.cn(&[mem, float]);
    let image = world.new_cont("image", &[mem, int, int, int, sampled]);
    world.set_linkage(image, Linkage::Imported("image".into()));
    let results: Vec<nyala_ir::Ty> = std::iter::once(mem).chain(vec![float; filter.channels.len()]).collect();
    let ret = world.types.cn(&results);
    let pixel = world.new_cont("pixel", &[mem, int, int, ret]);
    world.set_linkage(pixel, Linkage::Exported("pixel".into()));
    let [mem, row, col, ret] = world.cont(pixel).params[..] else { unreachable!("it was made with four") };
    let known = target.known();
    let sizes = [known.width, known.height, known.iter.unwrap_or(0)].map(|size| world.lit_i32(size));
    // Only planes in memory have distances.
    let none = world.lit_i32(0);
    let image = Image::Function(world.cont_def(image));
    let place = Place { image, sizes, current: None, stride: none, plane: none };
    let ranges = Ranges::new(filter, known);
    let (block, mem, values) =
        translate(&mut world, filter, target.setup, ranges, place, &[[row, col]], (pixel, mem));
    let args: Vec<Def> = std::iter::once(mem).chain(values.into_iter().flatten()).collect();
    world.set_body(block, ret, args);
    world
}

struct Reader<'w> {
    world: &'w World,
    /// What parameters and operations are.
    values: HashMap<Def, Rc<Expr>>,
    uses: HashMap<Def, u32>,
    /// Definitions of nodes that are used several times.
    lets: Vec<(Var, Expr)>,
    ret: Def,
    /// How many nodes may still be made.
    left: usize,
}

fn leaf(op: Op, ty: Ty) -> Expr {
    Expr { op, ty, span: Span::NONE }
}

type Values = Vec<Rc<Expr>>;

impl Reader<'_> {
    /// The values that a block passes to `stop`, or returns.
    fn block(&mut self, start: Cont, stop: Option<Cont>) -> Option<Values> {
        let mut block = start;
        loop {
            self.left = self.left.checked_sub(1)?;
            let body = self.world.cont(block).body.as_ref()?;
            let values = &body.args[1..];
            if body.callee == self.ret {
                return self.all(values);
            }
            let target = self.world.as_cont(body.callee)?;
            block = match &self.world.cont(target).linkage {
                Linkage::Intrinsic(Intrinsic::Branch) => {
                    let (condition, then, other) =
                        (values[0], self.world.as_cont(values[1])?, self.world.as_cont(values[2])?);
                    let join = self.join(then, other)?;
                    let condition = self.expr(condition)?;
                    let (then, other) = (self.block(then, Some(join))?, self.block(other, Some(join))?);
                    let joined = then.iter().zip(&other).map(|(then, other)| {
                        let parts =
                            [condition.clone(), then.clone(), other.clone()].map(|part| (*part).clone());
                        self.node(Op::If(Box::new(parts)), then.ty)
                    });
                    let joined = joined.collect::<Option<Values>>()?;
                    if stop == Some(join) {
                        return Some(joined);
                    }
                    self.bind(join, joined);
                    join
                }
                Linkage::Imported(_) => {
                    let parts: Vec<Expr> =
                        self.all(&values[..3])?.iter().map(|part| (**part).clone()).collect();
                    let sample = self.node(Op::Image(Box::new(parts.try_into().ok()?)), Ty::Float)?;
                    let next = self.world.as_cont(values[3])?;
                    self.bind(next, vec![sample]);
                    next
                }
                Linkage::Internal if stop == Some(target) => return self.all(values),
                Linkage::Internal => {
                    let values = self.all(values)?;
                    self.bind(target, values);
                    target
                }
                _ => return None,
            };
        }
    }

    fn bind(&mut self, block: Cont, values: Values) {
        let params = self.world.cont(block).params[1..].iter().copied();
        self.values.extend(params.zip(values));
    }

    /// The block where two paths join: the first on one path that the other one reaches. None if a path has a loop.
    fn join(&self, then: Cont, other: Cont) -> Option<Cont> {
        let reached = self.reached(other)?;
        let mut block = then;
        // On a path that branches, the join of the branches comes next.
        for _ in 0..self.world.cont_count() {
            if reached.contains(&block) {
                return Some(block);
            }
            let next = self.successors(block);
            block = match next[..] {
                [one] => one,
                [then, other] => self.join(then, other)?,
                _ => return None,
            };
        }
        None
    }

    fn reached(&self, start: Cont) -> Option<Vec<Cont>> {
        let (mut reached, mut work) = (vec![], vec![start]);
        while let Some(block) = work.pop() {
            if !reached.contains(&block) {
                reached.push(block);
                work.extend(self.successors(block));
            }
        }
        Some(reached)
    }

    /// The blocks that a block continues with.
    fn successors(&self, block: Cont) -> Vec<Cont> {
        let Some(body) = &self.world.cont(block).body else { return vec![] };
        let has_body = |cont: &Cont| self.world.cont(*cont).body.is_some();
        let all = std::iter::once(body.callee).chain(body.args.iter().copied());
        all.filter_map(|def| self.world.as_cont(def)).filter(has_body).collect()
    }

    fn all(&mut self, defs: &[Def]) -> Option<Values> {
        defs.iter().map(|&def| self.expr(def)).collect()
    }

    /// A node of the tree. Its parts are copies, so they count again.
    fn node(&mut self, op: Op, ty: Ty) -> Option<Rc<Expr>> {
        let expr = leaf(op, ty);
        self.left = self.left.checked_sub(expr.size())?;
        Some(Rc::new(expr))
    }

    fn expr(&mut self, def: Def) -> Option<Rc<Expr>> {
        if let Some(value) = self.values.get(&def) {
            return Some(value.clone());
        }
        let mut value = self.operation(def)?;
        let is_shared = self.uses.get(&def).is_some_and(|&uses| uses > 1) && value.size() >= MIN_SHARED;
        if is_shared && !value.any(&|part| matches!(part.op, Op::Image(_))) {
            let var = Var(Var::FIRST.0 + self.lets.len() as u32);
            self.lets.push((var, (*value).clone()));
            value = Rc::new(leaf(Op::Var(var), value.ty));
        }
        self.values.insert(def, value.clone());
        Some(value)
    }

    fn operation(&mut self, def: Def) -> Option<Rc<Expr>> {
        let ty = match self.world.types.as_prim(self.world.ty(def))? {
            Prim::Bool => Ty::Bool,
            Prim::I32 => Ty::Int,
            Prim::F32 => Ty::Float,
            _ => return None,
        };
        let op = match self.world.node(def) {
            Node::Lit(bits) => match ty {
                Ty::Bool => Op::Bool(bits != 0),
                Ty::Int => Op::Int(bits as u32 as i32),
                _ => Op::Float(f32::from_bits(bits as u32)),
            },
            Node::Arith { op, lhs, rhs, .. } => {
                let operands = [self.expr(lhs)?, self.expr(rhs)?].map(|part| (*part).clone());
                Op::Binary(arith(op, ty)?, Box::new(operands))
            }
            Node::Cmp { op, lhs, rhs } => {
                let operands = [self.expr(lhs)?, self.expr(rhs)?].map(|part| (*part).clone());
                Op::Binary(compare(op), Box::new(operands))
            }
            Node::Select { cond, then, other } => {
                let parts = [self.expr(cond)?, self.expr(then)?, self.expr(other)?];
                Op::If(Box::new(parts.map(|part| (*part).clone())))
            }
            Node::Cast(value) if ty == Ty::Float => Op::IntToFloat(Box::new((*self.expr(value)?).clone())),
            Node::Cast(value) if ty == Ty::Int => self.rounding(value)?,
            Node::Math { op, args, .. } => {
                let args = self.all(self.world.list(args))?;
                math(op, &args)?
            }
            _ => return None,
        };
        self.node(op, ty)
    }

    /// A `Float` as an `Int`: it was rounded, and clamped to the range of an `Int`.
    fn rounding(&mut self, value: Def) -> Option<Op> {
        let inner = |def: Def, wanted: MathOp| match self.world.node(def) {
            Node::Math { op, args, .. } if op == wanted => self.world.list(args).first().copied(),
            _ => None,
        };
        let value = inner(inner(value, MathOp::Fmin)?, MathOp::Fmax)?;
        let roundings =
            [(MathOp::Floor, UnaryOp::Floor), (MathOp::Ceil, UnaryOp::Ceil), (MathOp::Round, UnaryOp::Round)];
        let (operand, op) = roundings.iter().find_map(|&(math, op)| Some((inner(value, math)?, op)))?;
        Some(Op::Unary(op, Box::new((*self.expr(operand)?).clone())))
    }
}

fn arith(op: ArithOp, ty: Ty) -> Option<BinaryOp> {
    Some(match (op, ty) {
        (ArithOp::And, Ty::Bool) => BinaryOp::And,
        (ArithOp::Or, Ty::Bool) => BinaryOp::Or,
        (ArithOp::Xor, Ty::Bool) => BinaryOp::Ne,
        (ArithOp::Add, _) => BinaryOp::Add,
        (ArithOp::Sub, _) => BinaryOp::Sub,
        (ArithOp::Mul, _) => BinaryOp::Mul,
        (ArithOp::Div, _) => BinaryOp::Div,
        (ArithOp::Rem, Ty::Int) => BinaryOp::Mod,
        _ => return None,
    })
}

fn compare(op: CmpOp) -> BinaryOp {
    match op {
        CmpOp::Eq => BinaryOp::Eq,
        CmpOp::Ne => BinaryOp::Ne,
        CmpOp::Lt => BinaryOp::Lt,
        CmpOp::Le => BinaryOp::Le,
        CmpOp::Gt => BinaryOp::Gt,
        CmpOp::Ge => BinaryOp::Ge,
    }
}

fn math(op: MathOp, args: &[Rc<Expr>]) -> Option<Op> {
    let binary = match op {
        MathOp::Fmin => Some(BinaryOp::Min),
        MathOp::Fmax => Some(BinaryOp::Max),
        MathOp::Pow => Some(BinaryOp::Pow),
        _ => None,
    };
    if let (Some(op), [lhs, rhs]) = (binary, args) {
        return Some(Op::Binary(op, Box::new([(**lhs).clone(), (**rhs).clone()])));
    }
    let unary = match op {
        MathOp::Fabs => UnaryOp::Abs,
        MathOp::Sqrt => UnaryOp::Sqrt,
        MathOp::Sin => UnaryOp::Sin,
        MathOp::Cos => UnaryOp::Cos,
        MathOp::Tan => UnaryOp::Tan,
        MathOp::Asin => UnaryOp::Asin,
        MathOp::Acos => UnaryOp::Acos,
        MathOp::Atan => UnaryOp::Atan,
        MathOp::Exp => UnaryOp::Exp,
        MathOp::Log => UnaryOp::Log,
        _ => return None,
    };
    Some(Op::Unary(unary, Box::new((*args.first()?.clone()).clone())))
}
