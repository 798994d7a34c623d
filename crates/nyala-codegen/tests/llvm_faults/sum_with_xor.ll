; `callee` gets 0 + (0 ^ 9), which is 9: the result is 65536 % 9 = 7. Once `callee` is inlined, LLVM takes the divisor for 1 and
; makes 0 of it. The product must not be folded before: a call gives the 0.
;
;     opt -passes='cgscc(inline)' -S sum_with_xor.ll

define internal i32 @callee(i32 %x) {
  %divisor = or i32 %x, 1
  %remainder = urem i32 65536, %divisor
  ret i32 %remainder
}

define i32 @caller(i32 %a) {
  %zero = call i32 @callee(i32 1)
  %product = mul i32 %a, %zero
  %xor = xor i32 %product, 9
  %sum = add i32 %product, %xor
  %result = call i32 @callee(i32 %sum)
  ret i32 %result
}
