/* linker.c: stands for a HIPRTC that links. */
#define FUNCTION(name, code) int name(void); int name(void) { return code; }
FUNCTION(hiprtcLinkCreate, 17)
FUNCTION(hiprtcLinkAddData, 18)
FUNCTION(hiprtcLinkAddFile, 19)
FUNCTION(hiprtcLinkComplete, 20)
FUNCTION(hiprtcLinkDestroy, 21)
