/* entry.c: dlsym. It asks preload_choose and returns what that made, or jumps to the real dlsym, as if the caller
 * had called that: the caller is known by the return address. */

#if defined(__x86_64__)

__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	".p2align 4\n"
	"dlsym:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq (%rsp), %rdx\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call preload_choose\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	testb %dl, %dl\n"
	"	jz 1f\n"
	"	ret\n"
	"1:	jmpq *preload_real_dlsym(%rip)\n"
	"	.cfi_endproc\n"
	".size dlsym, .-dlsym\n");

#elif defined(__aarch64__)

__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, %function\n"
	".p2align 4\n"
	"dlsym:\n"
	"	.cfi_startproc\n"
	"	hint #34\n" /* bti c */
	"	stp x29, x30, [sp, #-32]!\n"
	"	.cfi_adjust_cfa_offset 32\n"
	"	.cfi_rel_offset x29, 0\n"
	"	.cfi_rel_offset x30, 8\n"
	"	stp x0, x1, [sp, #16]\n"
	"	mov x2, x30\n"
	"	bl preload_choose\n"
	"	and w3, w1, #0xff\n"
	"	mov x2, x0\n"
	"	ldp x0, x1, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	.cfi_adjust_cfa_offset -32\n"
	"	.cfi_restore x29\n"
	"	.cfi_restore x30\n"
	"	cbz w3, 1f\n"
	"	mov x0, x2\n"
	"	ret\n"
	"1:	adrp x16, preload_real_dlsym\n"
	"	ldr x16, [x16, :lo12:preload_real_dlsym]\n"
	"	br x16\n"
	"	.cfi_endproc\n"
	".size dlsym, .-dlsym\n");

#endif
/* Elsewhere dlsym is not ours, and only linked programs are served. */
