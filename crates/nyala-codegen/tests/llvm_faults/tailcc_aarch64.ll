; [AArch64] tailcc functions that do not remove their arguments from the stack
;
;   llc -O2 -mtriple=aarch64-unknown-linux-gnu tailcc_aarch64.ll -o -      (shrink-wrapping)
;   llc -O0 -mtriple=aarch64-unknown-linux-gnu tailcc_aarch64.ll -o -      (GlobalISel)
;
; A tailcc function removes the arguments on the stack, here 16 bytes, on every path to a return: each `ret` needs an
; `add sp, sp, #16` after the frame is gone. Where shrink-wrapping leaves the frame out, that is
; missing; with GlobalISel it always is.

declare i64 @use(i64)

define tailcc i64 @f(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h, i64 %on_stack) {
entry:
  %early = icmp eq i64 %a, 0
  br i1 %early, label %out, label %work

out:
  ret i64 %b

work:
  %x = call i64 @use(i64 %on_stack)
  %y = call i64 @use(i64 %x)
  %z = add i64 %x, %y
  ret i64 %z
}
