; A masked store of one lane of a truncated vector (llvm-project#179489).
;
;   llc -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4 single_lane_store.ll -o -
;
; Right: one store of a byte (`movb` or `vpextrb`), or `vpmovqb` with a mask. Wrong: a store that is as wide as a lane of %x.

define void @f(ptr %p, <4 x i64> %x) {
  %narrow = trunc <4 x i64> %x to <4 x i8>
  call void @llvm.masked.store.v4i8.p0(<4 x i8> %narrow, ptr %p, i32 1, <4 x i1> <i1 true, i1 false, i1 false, i1 false>)
  ret void
}

declare void @llvm.masked.store.v4i8.p0(<4 x i8>, ptr, i32, <4 x i1>)
