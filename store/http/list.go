package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/kernstash/kernstash/store/remote"
)

// maxIndex bounds the bytes of a directory's index: some half a million objects.
const maxIndex = 64 << 20

// maxName is the length of a name, which bounds how deep directories are followed.
const maxName = 512

// errStop says that no more objects are wanted.
var errStop = errors.New("stopped")

// indexEntry is what nginx writes for each file with autoindex_format json.
type indexEntry struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	MTime string `json:"mtime"`
	Size  int64  `json:"size"`
}

// List yields objects if the server answers a GET of a directory with JSON, as nginx does with
// "autoindex on" and "autoindex_format json".
func (o *Objects) List(ctx context.Context, prefix string) iter.Seq2[remote.Object, error] {
	return func(yield func(remote.Object, error) bool) {
		dir := prefix[:strings.LastIndex(prefix, "/")+1]
		err := o.list(ctx, dir, prefix, func(object remote.Object) bool { return yield(object, nil) })
		if err != nil && !errors.Is(err, errStop) {
			yield(remote.Object{}, err)
		}
	}
}

func (o *Objects) list(ctx context.Context, dir, prefix string, yield func(remote.Object) bool) error {
	entries, err := o.index(ctx, dir)
	if err != nil {
		return o.wrap(ctx, "list", dir, err)
	}
	for _, e := range entries {
		switch name := dir + e.Name; {
		case e.Type == "directory" && (strings.HasPrefix(name, prefix) || strings.HasPrefix(prefix, name+"/")):
			if err := o.list(ctx, name+"/", prefix, yield); err != nil {
				return err
			}
		case e.Type == "file" && strings.HasPrefix(name, prefix):
			modified, _ := time.Parse(http.TimeFormat, e.MTime) // zero: it does not tell
			if !yield(remote.Object{Name: name, Size: max(e.Size, 0), Modified: modified}) {
				return errStop
			}
		}
	}
	return nil
}

// index returns what is in a directory; nothing if there is none.
func (o *Objects) index(ctx context.Context, dir string) (entries []indexEntry, err error) {
	err = o.do(ctx, http.MethodGet, dir, nil, nil, func(resp *http.Response) error {
		kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
		switch {
		case resp.StatusCode == http.StatusNotFound:
			return nil
		case resp.StatusCode == http.StatusOK && strings.TrimSpace(kind) == "application/json":
			b, err := read(ctx, resp, maxIndex)
			if errors.Is(err, remote.ErrTooLarge) {
				return fmt.Errorf("the index has more than %d bytes", maxIndex)
			} else if err != nil {
				return err
			}
			if entries, err = parseIndex(b, dir); err != nil {
				return remote.ErrUnsupported
			}
			return nil
		case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusMethodNotAllowed:
			_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
			return remote.ErrUnsupported
		}
		return &statusError{resp}
	})
	return entries, err
}

// parseIndex returns what is in the index of a directory and may be ours. The others are dropped one by one: 64 MiB
// of "{}," would be a gigabyte of entries.
func parseIndex(b []byte, dir string) (entries []indexEntry, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	begin, err := d.Token()
	if err != nil || begin != nil && begin != json.Delim('[') {
		return nil, errNoIndex
	}
	for begin != nil && d.More() {
		var e indexEntry
		if err := d.Decode(&e); err != nil {
			return nil, err
		}
		if isPart(e.Name) && len(dir)+len(e.Name) <= maxName {
			entries = append(entries, e)
		}
	}
	if begin != nil {
		if _, err := d.Token(); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoIndex
	}
	return entries, nil
}

var errNoIndex = errors.New("no index")

// isPart reports whether a name can be a part of an object's.
func isPart(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_'
	})
}
