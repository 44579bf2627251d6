package job

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
)

// anew is a recipe as it was worked out here.
type anew struct {
	recipe    *key.Recipe
	manifests []*manifest.Manifest
	ways      []*manifest.Ways // to the files of these
}

// changed names a header file that is not as it was when the key was worked out,
// "" if there is none.
func (a *anew) changed() string {
	for i, m := range a.manifests {
		if c := cmp.Or(m.Changed(), a.ways[i].Changed()); c != "" {
			return c
		}
	}
	return ""
}

// workOut returns the recipe of a job by what is here: the device, the variables
// and the header files are not the job's word but what this process sees. The
// working directory is p's.
func workOut(rt *opencl.Runtime, d *opencl.Device, j *spool.Job, p place) (*anew, error) {
	identity, err := d.Identify()
	if err != nil {
		return nil, err
	}
	r := &key.Recipe{Device: identity, Image: j.Recipe.Image, Constants: j.Recipe.Constants, Options: j.Recipe.Options}
	if r.Options.Variables, err = rt.Variables(0); err != nil {
		return nil, err
	}
	r.Options.Search = p.search
	out := &anew{recipe: r}
	if !keepsPlace(r.Image) {
		return out, nil
	}
	search, err := rt.HeaderSearch(0, p.dir, kernstash.Request{})
	if err != nil {
		return nil, err
	}
	search.Dir = p.dir
	words := slices.Concat(p.search, r.Options.Compile)
	units := slices.Clone(r.Image.Units())
	for i, u := range units {
		if len(u.Includes) == 0 && u.Dir == "" {
			continue
		}
		bare := key.Unit{Kind: u.Kind, Code: u.Code, Headers: u.Headers}
		tracking, against := deps.Track(bare, words, search)
		if !against.None() {
			return nil, fmt.Errorf("what it includes cannot be known here: %v", against)
		}
		units[i] = tracking.Unit
		out.manifests = append(out.manifests, tracking.Manifest)
		out.ways = append(out.ways, tracking.Manifest.Ways())
	}
	if r.Image, err = r.Image.Tracked(units); err != nil {
		return nil, err
	}
	return out, nil
}

// differs says in which component two keys differ, "" if in none.
func differs(a, b key.Key) string {
	switch {
	case a.Device != b.Device:
		return "the device"
	case a.Image != b.Image:
		return "its source or a header file"
	case a.Constants != b.Constants:
		return "its constants"
	case a.Options != b.Options:
		return "its options, or a variable that the compiler obeys"
	case a != b:
		return "the schema"
	}
	return ""
}
