package rtc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// A recipe has no place for a program's name and its name expressions: they are
// among its link options, which no compiler here has, as words of these kinds.
const (
	nameWord       = "name="
	expressionWord = "expression="
	directoryWord  = "directory="

	emptyWord = "empty" // the source has no byte; an image must have one
)

// Core returns the request as the core's, for a context of a [Runtime] or of one's
// own that compiles for one device. What is the same to the compiler is the same
// request: every door asks so. An error, which may wrap key.ErrEmpty or
// key.ErrDuplicate, says that such a program is the compiler's own affair.
func (l *Library) Core(r Request) (kernstash.Request, error) {
	if l.api == HIPRTC {
		if err := hipKnown(r.Options); err != nil {
			return kernstash.Request{}, fmt.Errorf("request: %w", err)
		}
	}
	source, _, _ := bytes.Cut(r.Source, []byte{0})
	empty := len(source) == 0
	if empty {
		source = []byte{'\n'}
	}
	said := deps.LookAtExpressions(r.Expressions, source)
	if said.Unknown != "" {
		return kernstash.Request{}, fmt.Errorf("request: %w: %q", errExpression, said.Unknown)
	}
	image, err := kernstash.NewImage(l.d.kind, source, l.included(source, r.Headers)...)
	if err != nil {
		return kernstash.Request{}, fmt.Errorf("request: %w", err)
	}
	options := separate(r.Options)
	more := l.moreOptions()
	if l.api == NVRTC && !more {
		options = canonical(options)
	}
	if len(r.Headers) > 0 && !more && !image.IncludesFiles() {
		// Every include is of a header in memory, which goes before all files.
		options = withoutSearch(options)
	}
	compile := make([]string, len(options))
	for i, o := range options {
		compile[i] = word(o)
	}
	var link []string
	if empty {
		link = append(link, emptyWord)
	}
	dir, parent, name := l.splitName(r, image, options, compile)
	if dir != "" && (more || said.Path || said.Foreign && image.IncludesFiles()) {
		dir, parent, name = "", "", r.Name
	}
	for _, w := range [][2]string{{nameWord, name}, {deps.PlaceWord, dir}, {deps.ParentWord, parent}} {
		if w[1] != "" {
			link = append(link, w[0]+escape(w[1]))
		}
	}
	expressions := r.Expressions
	if !counts(r) && !(said.Foreign && image.IncludesFiles()) {
		expressions = slices.Sorted(slices.Values(expressions)) // each is answered for by itself
	}
	for _, e := range expressions {
		link = append(link, expressionWord+escape(e))
	}
	if more || keepsDirectory(options) {
		dir, err := os.Getwd()
		if err != nil {
			return kernstash.Request{}, fmt.Errorf("request: %w", err)
		}
		link = append(link, directoryWord+escape(dir))
	}
	return kernstash.Request{
		Image: image, CompileOptions: strings.Join(compile, " "), LinkOptions: strings.Join(link, " "),
	}, nil
}

var errRecipe = errors.New("not a recipe of a run-time compiler")

// FromRecipe returns the request that a recipe was made of. Its header files are
// looked for again.
func FromRecipe(r *key.Recipe) (Request, error) {
	units := r.Image.Units()
	if len(units) != 1 || units[0].Kind != key.CUDACpp && units[0].Kind != key.HIPCpp {
		return Request{}, errRecipe
	}
	q := Request{Source: units[0].Code, Headers: units[0].Headers}
	search, dir, _ := deps.SplitPlace(r.Options.Search)
	link, more, _ := deps.SplitPlace(r.Options.Link)
	for _, words := range [][]string{search, r.Options.Compile} {
		for _, w := range words {
			q.Options = append(q.Options, option(w))
		}
	}
	for _, w := range link {
		ok := false
		if text, is := strings.CutPrefix(w, nameWord); is {
			q.Name, ok = unescape(text)
		} else if text, is := strings.CutPrefix(w, expressionWord); is {
			var e string
			e, ok = unescape(text)
			q.Expressions = append(q.Expressions, e)
		} else {
			ok = strings.HasPrefix(w, directoryWord) || w == emptyWord
			if w == emptyWord {
				q.Source = nil
			}
		}
		if !ok {
			return Request{}, fmt.Errorf("%w: %s", errRecipe, w)
		}
	}
	for _, w := range append(dir, more...) {
		text, ok := unescape(strings.TrimPrefix(w, deps.PlaceWord))
		if !ok {
			return Request{}, fmt.Errorf("%w: %s", errRecipe, w)
		}
		q.Name = text + q.Name
	}
	return q, nil
}
