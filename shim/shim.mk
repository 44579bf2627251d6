# What the shims' Makefiles have in common. Each sets NAME, SOURCES and HEADERS, and
# PLAIN to those of the sources that no sanitizer is to be in.

OUT    ?= build
CC     ?= cc
CFLAGS ?= -O2 -g
STRICT  = -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fPIC -fvisibility=hidden -pthread
# Once loaded it stays: drivers and applications hold its functions.
LINK    = -shared -Wl,-soname,$(NAME) -Wl,-z,nodelete,-z,relro,-z,now
asan    = -fsanitize=address,undefined -fno-sanitize-recover=undefined
tsan    = -fsanitize=thread

.PHONY: all asan tsan clean

all: $(OUT)/$(NAME)
asan tsan: %: $(OUT)/%/$(NAME)

$(OUT)/$(NAME): $(SOURCES) $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(STRICT) $(CFLAGS) $(LINK) -Wl,--no-undefined -o $@ $(SOURCES) -ldl

$(OUT)/asan/$(NAME) $(OUT)/tsan/$(NAME): $(OUT)/%/$(NAME): $(SOURCES) $(HEADERS)
	@mkdir -p $(@D)
	$(if $(PLAIN),$(CC) $(STRICT) -O1 -g -r -nostdlib -o $(@D)/plain.o $(PLAIN))
	$(CC) $(STRICT) -O1 -g -fno-omit-frame-pointer $($*) $(LINK) -o $@ \
		$(filter-out $(PLAIN),$(SOURCES)) $(if $(PLAIN),$(@D)/plain.o) -ldl

clean:
	rm -rf $(OUT)
