; [X86] Crash in the instruction scheduler: tail call with the result of a comparison on the stack
;
;   llc -O2 -mtriple=x86_64-unknown-linux-gnu tailcc_stack_byte.ll -o -
;
; @caller passes %is_even on the stack: `sete` stores to memory there, and so comes between the beginning and the end of
; the call sequence. The flags it reads are those of `test`, which serve the first call too: `test` comes before that, and the
; flags have to be copied or computed again. ScheduleDAGRRList::PickNodeToScheduleBottomUp would do that for
; the first of the delayed nodes. But this one is the call of `fmod`, which `frem` became. It is delayed because it
; must not begin inside of another call sequence, which has the number of a register that does not exist: the register's
; class is looked up, and LLVM reads past the end of a table.
;
; A node that is delayed by a call sequence cannot be helped by a copy. The loop should look for one that can.
;
; The same happens if the call is followed by a jump to a block that only returns: CodeGenPrepare copies the return, and then the
; call is a tail call.

define tailcc i64 @caller(i32 %n, double %x) {
  %bit = and i32 %n, 1
  %is_even = icmp eq i32 %bit, 0
  %unused = call tailcc i64 @other(i1 %is_even)
  %m = add nuw nsw i32 %n, 17
  %y = uitofp i32 %m to double
  %z = frem double %x, 3.0
  %r = tail call tailcc i64 @callee(i64 0, i64 0, i64 0, i64 0, i64 0, double %y, i64 0, i1 %is_even, double %z)
  ret i64 %r
}

declare tailcc i64 @other(i1)
declare tailcc i64 @callee(i64, i64, i64, i64, i64, double, i64, i1, double)
