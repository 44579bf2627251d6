package main

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
)

// application is a program that nobody changed.
type application struct {
	name    string
	debian  string   // Debian's, for who wants to install it
	needs   []string // files that must be there
	command []string
	env     []string // besides those that every application has: they stand in the table

	// make writes what the program reads into its working directory.
	make func(dir string) error

	// result is a file that the program writes, whose content is output too.
	result string

	// varies are what differs from run to run whatever the cache does: times,
	// rates, names of temporary files.
	varies []change

	// warmRuns is how often its warm start is measured, 0: warmRuns. long says that it
	// is run only where that is asked for.
	warmRuns int
	long     bool

	// uncacheable is how many of its programs the cache does not keep, with the reason.
	uncacheable int

	// builds says that it builds programs; else what is shown is that it is
	// not disturbed.
	builds bool
}

// change is a replacement in an output.
type change struct{ what, by string }

// normal removes from an output what varies.
func (a *application) normal(output []byte) string {
	text := string(output)
	for _, c := range a.varies {
		text = regexp.MustCompile("(?m)"+c.what).ReplaceAllString(text, c.by)
	}
	return text
}

const python = "/usr/bin/python3" // Debian's packages are for Debian's

func applications(testdata string) []application {
	return []application{
		{
			name: "clinfo", debian: "clinfo", needs: []string{"/usr/bin/clinfo"},
			command: []string{"/usr/bin/clinfo"},
		},
		{
			name: "clpeak", debian: "clpeak", needs: []string{"/usr/bin/clpeak"}, builds: true,
			command: []string{"/usr/bin/clpeak", "--kernel-latency"},
			varies: []change{
				{`^(\s+Kernel launch latency : )[\d.]+ us$`, "${1}TIME"},
			},
		},
		{
			name: "hashcat, MD5", debian: "hashcat", needs: []string{"/usr/bin/hashcat"}, builds: true,
			command: hashcat("0", "098f6bcd4621d373cade4e832627b4f6"),
		},
		{
			name: "hashcat, SHA-1", debian: "hashcat", needs: []string{"/usr/bin/hashcat"}, builds: true,
			command: hashcat("100", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"),
		},
		{
			name: "pyopencl", debian: "python3-pyopencl", needs: []string{python, "/usr/lib/python3/dist-packages/pyopencl/__init__.py"}, builds: true,
			command: []string{python, filepath.Join(testdata, "arrays.py")},
		},
		pyopenclTests("pyopencl's tests", false, "wrapper", "enqueue_copy", "arrays_in_structs", "clrandom"),
		pyopenclTests("pyopencl's long tests", true, "clmath", "algorithm", "array"),
		{
			name: "ffmpeg, three filters", debian: "ffmpeg", needs: []string{"/usr/bin/ffmpeg"}, builds: true,
			command: []string{
				"/usr/bin/ffmpeg", "-v", "error", "-nostdin", "-init_hw_device", "opencl=ocl", "-filter_hw_device", "ocl",
				"-f", "lavfi", "-i", "testsrc=size=320x240:rate=5", "-vf",
				"format=yuv420p,hwupload,avgblur_opencl=3,unsharp_opencl,deshake_opencl,hwdownload,format=yuv420p",
				"-frames:v", "3", "-f", "framemd5", "-",
			},
		},
		{
			name: "GEGL, three operations", debian: "gegl", needs: []string{"/usr/bin/gegl"}, builds: true,
			command: []string{"/usr/bin/gegl", "in.png", "-o", "out.ppm", "--", "box-blur", "radius=6", "edge-sobel", "pixelize", "size-x=4", "size-y=4"},
			env:     []string{"GEGL_USE_OPENCL=cpu", "GEGL_THREADS=1"},
			make:    writeGradient, result: "out.ppm",
		},
	}
}

// hashcat finds a password of four letters.
func hashcat(mode, hash string) []string {
	return []string{
		"/usr/bin/hashcat", "-m", mode, "-a", "3", "-D", "1", "--potfile-disable", "--quiet",
		hash, "?l?l?l?l",
	}
}

// writeGradient writes in.png.
func writeGradient(dir string) error {
	img := image.NewRGBA(image.Rect(0, 0, 256, 256))
	for y := range 256 {
		for x := range 256 {
			img.Set(x, y, color.RGBA{uint8(x), uint8(y), uint8(x ^ y), 255})
		}
	}
	f, err := os.Create(filepath.Join(dir, "in.png"))
	if err != nil {
		return err
	}
	if err := png.Encode(f, img); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
