package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
)

// Objects are those of a bucket. It is a remote.Objects and a remote.Leaser. What fails is not tried again: who calls knows whether it is worth while.
type Objects struct {
	client *minio.Core
	keys   *credentials.Credentials
	base   *http.Transport
	bucket string
	prefix string // ends with a slash, or is empty
	calls  chan struct{}

	timeout time.Duration // callTimeout

	// unconditional: the server knows no conditional writes.
	unconditional atomic.Bool
}

var (
	_ remote.Objects = (*Objects)(nil)
	_ remote.Leaser  = (*Objects)(nil)
)

// String returns the URL of the bucket, without parameters.
func (o *Objects) String() string {
	return "s3://" + o.bucket + "/" + strings.TrimSuffix(o.prefix, "/")
}

// Close ends the connections that no call uses.
func (o *Objects) Close() error {
	o.base.CloseIdleConnections()
	return nil
}

// Get returns the object of a name; see remote.Objects.
func (o *Objects) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	got, err := o.get(ctx, name, limit)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", name, err)
	}
	return got.body, nil
}

// object is one with what was told of it.
type object struct {
	body   []byte
	header http.Header
}

func (o *Objects) get(ctx context.Context, name string, limit int64) (object, error) {
	return do(ctx, o, call{}, func(ctx context.Context) (object, error) {
		r, info, header, err := o.client.GetObject(ctx, o.bucket, o.prefix+name, minio.GetObjectOptions{})
		if err != nil {
			return object{}, err
		}
		defer r.Close()
		b, err := read(store.Flowing(ctx, r, info.Size), limit)
		return object{b, header}, err
	})
}

// read reads to the end, and limit+1 bytes at most. What a server says of a length does not
// decide how much memory is taken.
func read(r io.Reader, limit int64) ([]byte, error) {
	var b bytes.Buffer
	limit = min(limit, math.MaxInt64-1)
	n, err := b.ReadFrom(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, remote.ErrTooLarge
	}
	return b.Bytes(), nil
}

// Put writes an object; see remote.Objects.
func (o *Objects) Put(ctx context.Context, name string, b []byte, replace bool) error {
	var condition func(*minio.PutObjectOptions)
	if !replace && !o.unconditional.Load() {
		condition = absent
	}
	_, err := o.put(ctx, name, b, condition)
	if condition != nil && errors.Is(err, remote.ErrUnsupported) {
		o.unconditional.Store(true)
		_, err = o.put(ctx, name, b, nil)
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	return nil
}

// absent has an object written where there is none.
func absent(p *minio.PutObjectOptions) { p.SetMatchETagExcept("*") }

// put writes an object if a condition holds, which may be nil, and returns its ETag, which
// may be empty.
func (o *Objects) put(ctx context.Context, name string, b []byte, condition func(*minio.PutObjectOptions)) (string, error) {
	// With its digest in the signature the server takes it only as it is, and it is sent in
	// one piece.
	digest := sha256.Sum256(b)
	options := minio.PutObjectOptions{DisableContentSha256: true, ContentType: "application/octet-stream"}
	if condition != nil {
		condition(&options)
	}
	return do(ctx, o, call{body: b}, func(ctx context.Context) (string, error) {
		info, err := o.client.PutObject(ctx, o.bucket, o.prefix+name, bytes.NewReader(b), int64(len(b)), "", hex.EncodeToString(digest[:]), options)
		return info.ETag, err
	})
}

// Delete removes an object; see remote.Objects.
func (o *Objects) Delete(ctx context.Context, name string) error {
	if err := o.delete(ctx, name, ""); err != nil && !errors.Is(err, remote.ErrNotFound) {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	return nil
}

// delete removes an object, if it has an ETag, where that is not empty. There are servers that
// do not look at the ETag.
func (o *Objects) delete(ctx context.Context, name, etag string) error {
	_, err := do(ctx, o, call{ifMatch: etag}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.client.RemoveObject(ctx, o.bucket, o.prefix+name, minio.RemoveObjectOptions{})
	})
	return err
}

// List yields objects by pages of the server's; see remote.Objects. What is below the prefix of
// the URL, and could not be the name of an object, is left out.
func (o *Objects) List(ctx context.Context, prefix string) iter.Seq2[remote.Object, error] {
	return func(yield func(remote.Object, error) bool) {
		if err := o.list(ctx, prefix, func(found remote.Object) bool { return yield(found, nil) }); err != nil {
			// That there is no bucket is no missing object.
			yield(remote.Object{}, fmt.Errorf("list %s: %w", o, notMissing(err)))
		}
	}
}

func notMissing(err error) error {
	if errors.Is(err, remote.ErrNotFound) {
		return errors.New(err.Error())
	}
	return err
}

func (o *Objects) list(ctx context.Context, prefix string, yield func(remote.Object) bool) error {
	c := call{limit: maxList, failed: make(chan error, 1)}
	inner, cancel := context.WithCancel(context.WithValue(ctx, callKey{}, &c))
	listed := o.client.Client.ListObjects(inner, o.bucket, minio.ListObjectsOptions{Prefix: o.prefix + prefix, Recursive: true})
	defer func() {
		cancel()
		go func() { // the client waits until all is taken
			for range listed {
			}
		}()
	}()
	quiet := time.NewTimer(o.timeout)
	defer quiet.Stop()
	for {
		quiet.Reset(o.timeout) // what yield takes does not count
		select {
		case <-quiet.C:
			return context.DeadlineExceeded
		case info, more := <-listed:
			switch {
			case !more:
				return nil
			case info.Err != nil:
				select {
				case err := <-c.failed:
					return err
				default:
					return info.Err
				}
			}
			name, below := strings.CutPrefix(info.Key, o.prefix)
			if !below || !strings.HasPrefix(name, prefix) || !valid(name) {
				continue
			}
			if !yield(remote.Object{Name: name, Size: info.Size, Modified: info.LastModified}) {
				return nil
			}
		case err := <-c.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// valid reports whether remote.Objects may have an object of this name.
func valid(name string) bool {
	if len(name) > 512 {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(".-_/", c) < 0 {
			return false
		}
	}
	return true
}
