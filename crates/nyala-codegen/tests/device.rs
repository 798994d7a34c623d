//! Programs for devices in text form, and what they become.

use expect_test::{Expect, expect};
use nyala_codegen::llvm_asm::{self, Gpu, GpuKind};
use nyala_codegen::{CodegenError, KernelShape, opencl};
use nyala_ir::World;

/// `text` with the first nine columns of indented lines removed: items start in the
/// first column.
fn unindent(text: &str) -> String {
    text.lines().map(|line| line.strip_prefix("         ").unwrap_or(line).to_owned() + "\n").collect()
}

fn world(program: &str) -> World {
    let world = nyala_ir::text::parse(&unindent(program)).expect("the program is well formed");
    nyala_ir::verify(&world).expect("the program keeps the rules");
    world
}

const KERNELS: [KernelShape<'_>; 1] =
    [KernelShape { name: "f", block: Some([64, 1, 1]), apart: &[true, false, false] }];

fn shown(written: Result<String, Vec<CodegenError>>) -> String {
    written.unwrap_or_else(|errors| {
        let reports = errors.iter().map(|error| error.to_diagnostic());
        reports.map(|report| format!("{}: {}\n", report.code, report.message)).collect()
    })
}

fn check(kind: GpuKind, program: &str, expected: Expect) {
    check_on(Gpu { kind, kernels: &KERNELS, has_libdevice: false, is_fast: false }, program, expected);
}

fn check_on(gpu: Gpu<'_>, program: &str, expected: Expect) {
    let gpu = Some(gpu);
    let options = llvm_asm::Options { gpu, ..llvm_asm::Options::default() };
    expected.assert_eq(&shown(llvm_asm::write(&world(program), &options).map(|module| module.text)));
}

fn check_opencl(program: &str, expected: Expect) {
    expected.assert_eq(&shown(opencl::write(&world(program), &KERNELS)));
}

/// The number of iterations is known and small for the first loop, unknown for the second, and large for the third.
#[test]
fn short_loops_are_unrolled() {
    let program = "export f(mem: mem, p: &[1][i32], n: i32, c: i32, ret: cn(mem)):
             first(mem, 31i32)
         first(mem: mem, i: i32):
             branch(mem, ge(i, 0i32), more, begin)
         more(mem: mem):
             first(store(mem, lea(f.p, first.i), first.i), add(first.i, -1i32))
         begin(mem: mem):
             second(mem, 0i32)
         second(mem: mem, j: i32):
             branch(mem, lt(j, f.n), again, between)
         again(mem: mem):
             second(store(mem, lea(f.p, second.j), second.j), add(second.j, 1i32))
         between(mem: mem):
             third(mem, 0i32)
         third(mem: mem, k: i32):
             branch(mem, lt(k, 5000i32), long, done)
         long(mem: mem):
             third(store(mem, lea(f.p, third.k), third.k), add(third.k, 1i32))
         done(mem: mem):
             f.ret(mem)";
    check(
        GpuKind::Nvptx,
        program,
        expect![[r#"
        define internal void @f.1(ptr addrspace(1) %p, i32 %n, i32 %c) #0 {
        entry:
          br label %first

        first:
          %i = phi i32 [ 31, %entry ], [ %add, %more ]
          %ge = icmp sge i32 %i, 0
          br i1 %ge, label %more, label %begin

        more:
          %index = sext i32 %i to i64
          %at = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %index
          store i32 %i, ptr addrspace(1) %at, align 4
          %add = add nsw i32 %i, -1
          br label %first, !llvm.loop !1000001

        begin:
          br label %second

        second:
          %j = phi i32 [ 0, %begin ], [ %add.1, %again ]
          %lt = icmp slt i32 %j, %n
          br i1 %lt, label %again, label %between

        again:
          %index.1 = sext i32 %j to i64
          %at.1 = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %index.1
          store i32 %j, ptr addrspace(1) %at.1, align 4
          %add.1 = add nsw i32 %j, 1
          br label %second

        between:
          br label %third

        third:
          %k = phi i32 [ 0, %between ], [ %add.2, %long ]
          %lt.1 = icmp slt i32 %k, 5000
          br i1 %lt.1, label %long, label %done

        long:
          %index.2 = sext i32 %k to i64
          %at.2 = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %index.2
          store i32 %k, ptr addrspace(1) %at.2, align 4
          %add.2 = add nsw i32 %k, 1
          br label %third

        done:
          ret void
        }

        define ptx_kernel void @f(ptr addrspace(1) noalias %0, i32 %1, i32 %2) #0 "nvvm.reqntid"="64,1,1" {
        start:
          call void @f.1(ptr addrspace(1) %0, i32 %1, i32 %2)
          ret void
        }

        attributes #0 = { nounwind }

        !1000000 = !{!"llvm.loop.unroll.full"}
        !1000001 = distinct !{!1000001, !1000000}
    "#]],
    );
}

/// Of `f32` only: there are no units for `f64`, whose functions are written once and called.
#[test]
fn fast_math_uses_the_special_function_units() {
    let gpu = Gpu { kind: GpuKind::Nvptx, kernels: &KERNELS, has_libdevice: false, is_fast: true };
    let program = "device power(mem: mem, x: f32, y: f32, ret: cn(mem, f32)) = \"powf\"
         device double(mem: mem, x: f64, ret: cn(mem, f64)) = \"exp2\"
         export f(mem: mem, p: &[1][f32], q: &[1][f64], c: bool, ret: cn(mem)):
             a = load(mem, lea(f.p, 0i32))
             power(a.0, a.1, a.1, next)
         next(mem: mem, x: f32):
             b = store(mem, lea(f.p, 0i32), x)
             d = load(b, lea(f.q, 0i32))
             double(d.0, d.1, last)
         last(mem: mem, y: f64):
             f.ret(store(mem, lea(f.q, 0i32), y))";
    check_on(
        gpu,
        program,
        expect![[r#"
            declare float @llvm.nvvm.lg2.approx.f(float)
            declare float @llvm.nvvm.ex2.approx.f(float)
            declare double @llvm.fma.f64(double, double, double)

            define internal double @nyala.exp2.f64.relaxed(double %x) nounwind {
            entry:
              %v0 = fcmp olt double %x, 0xC08FF80000000000
              %v1 = select i1 %v0, double 0xC08FF80000000000, double %x
              %v2 = fcmp olt double %v1, 0x4090000000000000
              %v3 = select i1 %v2, double %v1, double 0x4090000000000000
              %v4 = fadd double %v3, 0x4338000000000000
              %v5 = fsub double %v4, 0x4338000000000000
              %v6 = bitcast double %v4 to i64
              %v7 = fsub double %v3, %v5
              %v8 = fmul double %v7, %v7
              %v9 = call double @llvm.fma.f64(double 0x3E3E61BE6725DFE2, double %v8, double 0x3EB62BFC7421C90A)
              %v10 = call double @llvm.fma.f64(double %v9, double %v8, double 0x3F24309130EFF33E)
              %v11 = call double @llvm.fma.f64(double %v10, double %v8, double 0x3F83B2AB6FBA004B)
              %v12 = call double @llvm.fma.f64(double %v11, double %v8, double 0x3FCEBFBDFF82C5A5)
              %v13 = fmul double %v8, %v8
              %v14 = call double @llvm.fma.f64(double 0x3DFE7B517DD35DFB, double %v13, double 0x3EEFFCBFBB26FEDE)
              %v15 = call double @llvm.fma.f64(double %v14, double %v13, double 0x3FAC6B08D7049FF5)
              %v16 = call double @llvm.fma.f64(double 0x3E7B5266B4CA2352, double %v13, double 0x3F55D87FE78CB650)
              %v17 = call double @llvm.fma.f64(double %v16, double %v13, double 0x3FE62E42FEFA39EF)
              %v18 = call double @llvm.fma.f64(double %v15, double %v8, double %v17)
              %v19 = call double @llvm.fma.f64(double %v12, double %v7, double %v18)
              %v20 = call double @llvm.fma.f64(double %v19, double %v7, double 0x3FF0000000000000)
              %v21 = bitcast i64 %v6 to double
              %v22 = add i64 %v6, 1023
              %v23 = shl i64 %v22, 52
              %v24 = bitcast i64 %v23 to double
              %v25 = fmul double %v20, %v24
              ret double %v25
            }

            define internal void @f.1(ptr addrspace(1) %p, ptr addrspace(1) %q, i1 %c) #0 {
            entry:
              %at = getelementptr inbounds float, ptr addrspace(1) %p, i64 0
              %load = load float, ptr addrspace(1) %at, align 4
              %result = call float @llvm.nvvm.lg2.approx.f(float %load)
              %scaled = fmul fast float %result, %load
              %result.1 = call float @llvm.nvvm.ex2.approx.f(float %scaled)
              br label %next

            next:
              %x = phi float [ %result.1, %entry ]
              store float %x, ptr addrspace(1) %at, align 4
              %at.1 = getelementptr inbounds double, ptr addrspace(1) %q, i64 0
              %load.1 = load double, ptr addrspace(1) %at.1, align 8
              %exp2 = call double @nyala.exp2.f64.relaxed(double %load.1)
              br label %last

            last:
              %y = phi double [ %exp2, %next ]
              store double %y, ptr addrspace(1) %at.1, align 8
              ret void
            }

            define ptx_kernel void @f(ptr addrspace(1) noalias %0, ptr addrspace(1) %1, i8 %2) #0 "nvvm.reqntid"="64,1,1" {
            start:
              %bool = trunc i8 %2 to i1
              call void @f.1(ptr addrspace(1) %0, ptr addrspace(1) %1, i1 %bool)
              ret void
            }

            attributes #0 = { nounwind }
        "#]],
    );
}

/// Shared memory, pointers with and without a space, a flag and a table.
const KERNEL: &str = "intrinsic reserve_shared(mem: mem, n: i32, ret: cn(mem, &[3][i32]))
         device thread(mem: mem, ret: cn(mem, i32)) = \"threadIdx_x\"
         device sync(mem: mem, ret: cn(mem)) = \"__syncthreads\"
         const table: [i32 * 2] = [3, 4]
         export f(mem: mem, p: &[i32], q: &[1][i32], c: bool, ret: cn(mem)):
             reserve_shared(mem, 64, next)
         next(mem: mem, tile: &[3][i32]):
             thread(mem, there)
         there(mem: mem, i: i32):
             a = load(mem, lea(f.p, i))
             b = store(a.0, lea(next.tile, i), a.1)
             sync(b, synced)
         synced(mem: mem):
             c = load(mem, lea(next.tile, 0i32))
             d = load(c.0, lea(table, there.i))
             e = store(d.0, lea(f.q, there.i), select(f.c, c.1, d.1))
             f.ret(e)";

/// LLVM's `frem` would be inexact there.
#[test]
fn remainders_of_floats_are_functions() {
    let program = "export f(mem: mem, p: &[1][f32], q: &[1][simd[f16 * 2]], r: &[1][i32], ret: cn(mem)):
             a = load(mem, lea(p, 0i32))
             b = store(a.0, lea(p, 0i32), rem(a.1, 3.0))
             c = load(b, lea(q, 0i32))
             d = store(c.0, lea(q, 0i32), rem(c.1, c.1))
             e = load(d, lea(r, 0i32))
             ret(store(e.0, lea(r, 0i32), rem(e.1, 3)))";
    for kind in [GpuKind::Nvptx, GpuKind::Amdgpu] {
        let gpu = Some(Gpu { kind, kernels: &KERNELS, has_libdevice: false, is_fast: false });
        let options = llvm_asm::Options { gpu, ..llvm_asm::Options::default() };
        let text = shown(llvm_asm::write(&world(program), &options).map(|module| module.text));
        assert_eq!(text.matches("= call float @nyala.rem.f32(").count(), 3, "{text}");
        assert_eq!(text.matches("define internal float @nyala.rem.f32(").count(), 1, "{text}");
        assert!(text.contains("srem i32") && !text.contains("frem"), "{text}");
    }
}

#[test]
fn nvptx_pointers_have_address_spaces() {
    check(
        GpuKind::Nvptx,
        KERNEL,
        expect![[r#"
            @shared = internal addrspace(3) global [64 x i32] undef, align 16
            @table = internal addrspace(1) constant [2 x i32] [i32 3, i32 4], align 4

            declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
            declare void @llvm.nvvm.barrier0()

            define internal void @f.1(ptr %p, ptr addrspace(1) %q, i1 %c) #0 {
            entry:
              br label %next

            next:
              %tile = phi ptr addrspace(3) [ @shared, %entry ]
              %result = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
              br label %there

            there:
              %i = phi i32 [ %result, %next ]
              %index = sext i32 %i to i64
              %at = getelementptr inbounds i32, ptr %p, i64 %index
              %load = load i32, ptr %at, align 4
              %index.1 = sext i32 %i to i64
              %at.1 = getelementptr inbounds i32, ptr addrspace(3) %tile, i64 %index.1
              store i32 %load, ptr addrspace(3) %at.1, align 4
              call void @llvm.nvvm.barrier0()
              br label %synced

            synced:
              %at.2 = getelementptr inbounds i32, ptr addrspace(3) %tile, i64 0
              %load.1 = load i32, ptr addrspace(3) %at.2, align 4
              %index.2 = sext i32 %i to i64
              %at.3 = getelementptr inbounds i32, ptr addrspacecast (ptr addrspace(1) @table to ptr), i64 %index.2
              %load.2 = load i32, ptr %at.3, align 4
              %index.3 = sext i32 %i to i64
              %at.4 = getelementptr inbounds i32, ptr addrspace(1) %q, i64 %index.3
              %select = select i1 %c, i32 %load.1, i32 %load.2
              store i32 %select, ptr addrspace(1) %at.4, align 4
              ret void
            }

            define ptx_kernel void @f(ptr addrspace(1) noalias %0, ptr addrspace(1) %1, i8 %2) #0 "nvvm.reqntid"="64,1,1" {
            start:
              %generic = addrspacecast ptr addrspace(1) %0 to ptr
              %bool = trunc i8 %2 to i1
              call void @f.1(ptr %generic, ptr addrspace(1) %1, i1 %bool)
              ret void
            }

            attributes #0 = { nounwind }
        "#]],
    );
}

#[test]
fn amdgpu_locals_are_in_the_private_address_space() {
    check(
        GpuKind::Amdgpu,
        "device id(mem: mem, ret: cn(mem, i32)) = \"llvm.amdgcn.workitem.id.x\"
         export f(mem: mem, p: &[i32], ret: cn(mem)):
             id(mem, next)
         next(mem: mem, i: i32):
             a = slot[[i32 * 4]](mem)
             b = store(a.0, lea(a.1, i), i)
             c = load(b, lea(a.1, 0i32))
             d = store(c.0, lea(f.p, i), c.1)
             f.ret(d)",
        expect![[r#"
            declare i32 @llvm.amdgcn.workitem.id.x()

            define internal void @f.1(ptr %p) #0 {
            entry:
              %a_private = alloca [4 x i32], align 4, addrspace(5)
              %a = addrspacecast ptr addrspace(5) %a_private to ptr
              %result = call i32 @llvm.amdgcn.workitem.id.x()
              br label %next

            next:
              %i = phi i32 [ %result, %entry ]
              %index = sext i32 %i to i64
              %at = getelementptr inbounds i32, ptr %a, i64 %index
              store i32 %i, ptr %at, align 4
              %at.1 = getelementptr inbounds i32, ptr %a, i64 0
              %load = load i32, ptr %at.1, align 4
              %index.1 = sext i32 %i to i64
              %at.2 = getelementptr inbounds i32, ptr %p, i64 %index.1
              store i32 %load, ptr %at.2, align 4
              ret void
            }

            define amdgpu_kernel void @f(ptr addrspace(1) noalias %0) #0 "amdgpu-flat-work-group-size"="64,64" {
            start:
              %generic = addrspacecast ptr addrspace(1) %0 to ptr
              call void @f.1(ptr %generic)
              ret void
            }

            attributes #0 = { nounwind }
        "#]],
    );
}

#[test]
fn opencl_rejects_cuda_functions() {
    check_opencl(
        KERNEL,
        expect![[r#"
            E0947: OpenCL devices have no function `threadIdx_x`
            E0947: OpenCL devices have no function `__syncthreads`
        "#]],
    );
}

#[test]
fn opencl_loops_use_goto() {
    check_opencl(
        "intrinsic reserve_shared(mem: mem, n: i32, ret: cn(mem, &[3][i32]))
         device id(mem: mem, dim: u32, ret: cn(mem, u64)) = \"get_global_id\"
         export f(mem: mem, p: &[i32], n: i32, ret: cn(mem)):
             g(mem, p, n, ret)
         g(mem: mem, p: &[i32], n: i32, ret: cn(mem)):
             reserve_shared(mem, 8, next)
         next(mem: mem, tile: &[3][i32]):
             id(mem, 0, there)
         there(mem: mem, i: u64):
             count(mem, 0, 1)
         count(mem: mem, a: i32, b: i32):
             branch(mem, lt(a, g.n), more, done)
         more(mem: mem):
             count(mem, count.b, add(count.a, count.b))
         done(mem: mem):
             s = store(mem, lea(next.tile, 0i32), count.a)
             t = store(s, lea(g.p, there.i), count.a)
             g.ret(t)",
        expect![[r#"
            static void g(__global int* p, int n, __local int* shared);

            __kernel __attribute__((reqd_work_group_size(64, 1, 1))) void f(__global int* restrict p, int n) {
                __local int shared[8];
                g(p, n, shared);
                return;
            }

            static void g(__global int* p, int n, __local int* shared) {
                int a;
                int b;
                ulong result;
                int b_1;
                result = get_global_id(0u);
                a = 0;
                b = 1;
                goto count;
            count:;
                if (a < n) {
                goto more;
                } else {
                goto done;
                }
            more:;
                b_1 = (a + b);
                a = b;
                b = b_1;
                goto count;
            done:;
                *(shared + 0) = a;
                *(p + result) = a;
                return;
            }
        "#]],
    );
}

#[test]
fn opencl_rejects_pointers_into_several_address_spaces() {
    check_opencl(
        "export f(mem: mem, p: &[i32], n: i32, ret: cn(mem)):
             g(mem, lea(p, 0i32), next)
         next(mem: mem, a: i32):
             s = slot[i32](mem)
             g(store(s.0, s.1, a), s.1, last)
         last(mem: mem, b: i32):
             f.ret(store(mem, lea(f.p, 1i32), b))
         g(mem: mem, q: &i32, ret: cn(mem, i32)):
             l = load(mem, q)
             ret(l.0, add(l.1, 1))",
        expect![[r#"
            E0922: native code does not support a pointer `q` of `g` to memory of different kinds on OpenCL devices
        "#]],
    );
}
