; [X86] Wrong code: caller and callee of a tailcc function disagree on the size of the argument area
;
;   llc -O2 -mtriple=x86_64-unknown-linux-gnu tailcc_stack_vector.ll -o -
;
; @callee takes 24 bytes of arguments on the stack: a vector of 16 bytes and an integer. It removes them:
; `retq $24`. @caller reserves 40 bytes and believes that @callee has removed 40: it returns without adjusting
; the stack pointer, which is 16 bytes too low, and jumps to whatever lies there. `fastcc` with
; -tailcallopt behaves the same; every version since LLVM 14 at least does.
;
; X86TargetLowering::LowerFormalArguments computes the size as
; GetAlignedArgumentStackSize(CCInfo.getStackSize()), LowerCall as
; GetAlignedArgumentStackSize(CCInfo.getAlignedCallFrameSize()), which is rounded up to the largest alignment of
; an argument first. Both agree only if no argument on the stack is aligned to more than 8 bytes, or the
; size happens to be a multiple of that alignment. The size has to be computed in the same way at both places; the
; number of bytes that a caller of a tail call has for arguments (FPDiff) depends on it too.

define tailcc i64 @callee(<4 x float> %a, <4 x float> %b, <4 x float> %c, <4 x float> %d, <4 x float> %e,
                          <4 x float> %f, <4 x float> %g, <4 x float> %h, <4 x float> %on_stack,
                          i64 %i, i64 %j, i64 %k, i64 %l, i64 %m, i64 %n, i64 %also_on_stack) noinline {
  ret i64 %also_on_stack
}

define i64 @caller(<4 x float> %v, i64 %x) {
  %r = call tailcc i64 @callee(<4 x float> %v, <4 x float> %v, <4 x float> %v, <4 x float> %v, <4 x float> %v,
                               <4 x float> %v, <4 x float> %v, <4 x float> %v, <4 x float> %v,
                               i64 %x, i64 %x, i64 %x, i64 %x, i64 %x, i64 %x, i64 %x)
  ret i64 %r
}
