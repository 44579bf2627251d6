package kernstash

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/stats"
)

// BenchmarkHeadersUnchanged makes an image whose code includes 20 headers, and
// asks for the program that is there: by a manifest, which looks at each header
// and each absent one once, and beside it by 20 bare looks.
func BenchmarkHeadersUnchanged(b *testing.B) {
	files, code := make(map[string]string), ""
	for i := range 20 {
		name := fmt.Sprintf("h%02d.h", i)
		files["late/"+name] = strings.Repeat("int x;\n", 200)
		code += "#include <" + name + ">\n"
	}
	files["early/other.h"] = ""
	dir := newTree(b, files)
	c := openCache(b, "")
	f := newReader(b)
	f.search[0].Main = dir // else the working directory is looked into too
	x := fakeContextOn(c, f)
	r := Request{CompileOptions: "-I" + dir + "/early -I" + dir + "/late"}
	ask := func() {
		r.Image = image(b, code)
		use(b, x, r)
	}
	time.Sleep(3500 * time.Millisecond) // files that are younger are read
	ask()
	ask()
	b.Run("resolved", func(b *testing.B) {
		for b.Loop() {
			ask()
		}
	})
	b.Run("looks", func(b *testing.B) {
		for b.Loop() {
			for name := range files {
				_, _ = os.Stat(dir + "/" + name)
			}
		}
	})
	if s := c.Stats(); s[stats.HeadersScanned] != 1 {
		b.Errorf("%d scans", s[stats.HeadersScanned])
	}
}
