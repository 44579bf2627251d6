// Command s3server is versitygw, an S3 server, over a directory, for tests. It prints
// "address HOST:PORT" when it is ready, among what versitygw prints, and ends when its standard
// input does, which its parent holds.
//
//	s3server [flags] DIRECTORY
//
// Buckets are in DIRECTORY/buckets, users and their secrets in DIRECTORY/users. Its root is the
// account of ROOT_ACCESS_KEY and ROOT_SECRET_KEY. The server's API for administrators, which
// makes users, is at the same address.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
)

func main() {
	address := flag.String("address", "127.0.0.1:0", "where it listens; port 0 is one that is free")
	cert := flag.String("cert", "", "a file with its certificate (PEM): TLS")
	key := flag.String("key", "", "a file with the certificate's key (PEM)")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: s3server [-address HOST:PORT] [-cert FILE -key FILE] DIRECTORY")
		os.Exit(2)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := serve(ctx, flag.Arg(0), *address, *cert, *key); err != nil {
		fmt.Fprintln(os.Stderr, "s3server:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, dir, address, cert, key string) error {
	be, err := open(dir)
	if err != nil {
		return err
	}
	defer be.Shutdown()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	for {
		at := address
		if port == "0" {
			// The server does not tell which port it was given, so it is told one.
			if at, err = free(host); err != nil {
				return err
			}
		}
		err := embedgw.RunVersityGW(ctx, be, &embedgw.Config{
			RootUserAccess:    os.Getenv("ROOT_ACCESS_KEY"),
			RootUserSecret:    os.Getenv("ROOT_SECRET_KEY"),
			Region:            "us-east-1",
			Ports:             []string{at},
			MaxConnections:    4096,
			MaxRequests:       2048,
			MultipartMaxParts: 10000,
			CertFile:          cert,
			KeyFile:           key,
			IAMDir:            filepath.Join(dir, "users"),
			IAMCacheDisable:   true,
			KeepAlive:         true,
			Quiet:             true,
			DisableACLs:       true,
			S3Options:         []s3api.Option{s3api.WithOnListen(func() { fmt.Println("address", at) })},
		})
		if port == "0" && errors.Is(err, syscall.EADDRINUSE) {
			continue // another process was given the port meanwhile
		}
		return err
	}
}

// free returns an address of host that nobody listens at.
func free(host string) (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// open opens the store in dir. What a file system cannot keep beside a file is in files.
func open(dir string) (backend.Backend, error) {
	buckets, beside := filepath.Join(dir, "buckets"), filepath.Join(dir, "metadata")
	for _, d := range []string{buckets, beside, filepath.Join(dir, "users")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	options := posix.PosixOpts{Concurrency: 5000}
	var store meta.MetadataStorer = meta.XattrMeta{}
	if err := (meta.XattrMeta{}).Test(buckets); err != nil {
		options.SideCarDir = beside
		if store, err = meta.NewSideCar(beside); err != nil {
			return nil, err
		}
	}
	return posix.New(buckets, store, options)
}
