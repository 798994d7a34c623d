//! Filters as kernels: a work item for each pixel.

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Def, Intrinsic, Linkage, Prim, Ty};

use crate::render::{Builder, Device, Params};

/// The size of a work group.
const GROUP: (i32, i32) = (32, 4);

/// The address space of a device's memory.
const GLOBAL: u32 = 1;

impl Builder<'_> {
    /// Ends `filter` with the launch of a kernel.
    pub(crate) fn launch(&mut self, filter: Cont, mem: Def, ret: Def, params: Params) {
        let (mem_ty, int) = (self.world.types.mem(), self.world.types.prim(Prim::I32));
        let done = self.world.types.cn(&[mem_ty]);
        let body = self.world.types.cn(&[mem_ty, done]);
        let size = self.world.types.tuple(&[int, int, int]);
        let intrinsic = if self.target.device == Device::Cuda { Intrinsic::Nvvm } else { Intrinsic::OpenCl };
        let kernel = self.world.declare_intrinsic(intrinsic, &[mem_ty, int, size, size, body, done]);
        let item = self.world.new_cont("item", &[mem_ty, done]);
        let [width, height, _] = params.sizes;
        let (zero, one) = (self.world.lit_i32(0), self.world.lit_i32(1));
        let group = [GROUP.0, GROUP.1].map(|size| self.world.lit_i32(size));
        let grid = [self.whole_groups(width, GROUP.0), self.whole_groups(height, GROUP.1)];
        let grid = self.world.tuple(&[grid[0], grid[1], one]);
        let group = self.world.tuple(&[group[0], group[1], one]);
        let item_def = self.world.cont_def(item);
        self.world.set_body(filter, kernel, [mem, zero, grid, group, item_def, ret]);
        self.item(item, params);
    }

    /// The least multiple of `group` that is not below `size`.
    fn whole_groups(&mut self, size: Def, group: i32) -> Def {
        let strict = ArithFlags::STRICT;
        let (group, rest) = (self.world.lit_i32(group), self.world.lit_i32(group - 1));
        let size = self.world.arith(ArithOp::Add, strict, size, rest);
        let count = self.world.arith(ArithOp::Div, strict, size, group);
        self.world.arith(ArithOp::Mul, strict, count, group)
    }

    /// The code of a work item. Work items outside of the picture do nothing.
    fn item(&mut self, item: Cont, params: Params) {
        let (mem, ret) = (self.world.param(item, 0), self.world.param(item, 1));
        let mut at = (item, mem);
        let col = self.global_id(&mut at, 0);
        let row = self.global_id(&mut at, 1);
        let (block, mem) = at;
        let [width, height, _] = params.sizes;
        let is_left = self.world.cmp(CmpOp::Lt, col, width);
        let is_above = self.world.cmp(CmpOp::Lt, row, height);
        let is_inside = self.world.arith(ArithOp::And, ArithFlags::STRICT, is_left, is_above);
        let mem_ty = self.world.types.mem();
        let (pixel, outside) =
            (self.world.new_cont("pixel", &[mem_ty]), self.world.new_cont("outside", &[mem_ty]));
        let (pixel_def, outside_def) = (self.world.cont_def(pixel), self.world.cont_def(outside));
        self.world.set_branch(block, mem, is_inside, pixel_def, outside_def);
        let outside_mem = self.world.param(outside, 0);
        self.world.set_body(outside, ret, [outside_mem]);
        let params = Params {
            src: self.first_pixel(params.src),
            dst: self.first_pixel(params.dst),
            fault: self.on_device(params.fault, Prim::I32),
            ..params
        };
        let pixel_mem = self.world.param(pixel, 0);
        self.pixel(params, (pixel, pixel_mem), ret, row, col);
    }

    /// The address of the first pixel of a picture in the device's memory, which begins with the margin.
    fn first_pixel(&mut self, samples: Def) -> Def {
        let samples = self.on_device(samples, Prim::F32);
        let ty = self.world.ty(samples);
        let start = self.world.lit_i32(self.target.first_pixel() as i32);
        let first = self.world.lea(samples, start);
        self.world.bitcast(ty, first)
    }

    /// A pointer to the device's memory.
    fn on_device(&mut self, pointer: Def, prim: Prim) -> Def {
        let elem = self.world.types.prim(prim);
        let slice = self.world.types.slice(elem);
        let ty = self.world.types.ptr(slice, GLOBAL);
        self.world.bitcast(ty, pointer)
    }

    /// The number of the work item along a dimension.
    fn global_id(&mut self, at: &mut (Cont, Def), dim: u32) -> Def {
        let int = self.world.types.prim(Prim::I32);
        if self.target.device == Device::OpenCl {
            let (u32, u64) = (self.world.types.prim(Prim::U32), self.world.types.prim(Prim::U64));
            let dim = self.world.lit_u32(dim);
            let id = self.call(at, "get_global_id", &[(dim, u32)], u64);
            return self.world.cast(int, id);
        }
        let letter = ["x", "y"][dim as usize];
        let [thread, size, group] = ["tid", "ntid", "ctaid"]
            .map(|name| self.call(at, &format!("llvm.nvvm.read.ptx.sreg.{name}.{letter}"), &[], int));
        let start = self.world.arith(ArithOp::Mul, ArithFlags::STRICT, size, group);
        self.world.arith(ArithOp::Add, ArithFlags::STRICT, start, thread)
    }

    /// Calls a function of the device.
    fn call(&mut self, at: &mut (Cont, Def), name: &str, args: &[(Def, Ty)], result: Ty) -> Def {
        let mem_ty = self.world.types.mem();
        let ret = self.world.types.cn(&[mem_ty, result]);
        let types: Vec<Ty> = [mem_ty].into_iter().chain(args.iter().map(|arg| arg.1)).chain([ret]).collect();
        let found = self.world.conts().find(|(_, data)| data.linkage == Linkage::Device(name.into()));
        let function = match found {
            Some((function, _)) => function,
            None => {
                let function = self.world.new_cont(name, &types);
                self.world.set_linkage(function, Linkage::Device(name.into()));
                function
            }
        };
        let next = self.world.new_cont("next", &[mem_ty, result]);
        let (function, next_def) = (self.world.cont_def(function), self.world.cont_def(next));
        let args = [at.1].into_iter().chain(args.iter().map(|arg| arg.0)).chain([next_def]);
        self.world.set_body(at.0, function, args.collect::<Vec<Def>>());
        *at = (next, self.world.param(next, 0));
        self.world.param(next, 1)
    }
}
