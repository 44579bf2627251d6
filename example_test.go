package kernstash_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
)

// A cache before a compiler of one's own, without any GPU: what the first run
// compiles, the second one loads.
func ExampleCompiler() {
	dir, err := os.MkdirTemp("", "kernstash-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	compiler := kernstash.Compiler{
		Device: key.Device{API: "shout", Version: "1"},
		Compile: func(_ context.Context, r *key.Recipe) ([]byte, error) {
			fmt.Println("compiling with", r.Options.CompileString())
			return []byte(strings.ToUpper(string(r.Image.Units()[0].Code))), nil
		},
	}
	image, err := kernstash.NewImage(key.Opaque, []byte("hello"))
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		cache, err := kernstash.Open(kernstash.Options{Dir: filepath.Join(dir, "root")})
		if err != nil {
			log.Fatal(err)
		}
		x := kernstash.NewContext(cache, compiler, kernstash.ContextOptions{})
		p, err := x.Program(context.Background(), kernstash.Request{Image: image, CompileOptions: "-loud"})
		if err != nil {
			log.Fatal(err)
		}
		out, err := p.Native(0)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.Origin(), string(out))
		p.Release()
		if err := cache.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// compiling with -loud
	// compiled HELLO
	// disk HELLO
}
