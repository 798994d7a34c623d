; A loop that stores to p[4 * i + (k & 3)] for each k (llvm-project#191382).
;
;   opt -O2 -mtriple=x86_64-unknown-linux-gnu narrow_indices.ll -S -o -
;
; Wrong: a vector of neighbours is stored, as if `k & 3` never began again.

define void @f(ptr %p, i32 %i, i32 %n) {
entry:
  %base = shl i32 %i, 2
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %loop, label %end

loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %low = and i32 %k, 3
  %index = add i32 %base, %low
  %wide = sext i32 %index to i64
  %at = getelementptr i32, ptr %p, i64 %wide
  store i32 1, ptr %at, align 4
  %next = add nuw nsw i32 %k, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end

end:
  ret void
}
