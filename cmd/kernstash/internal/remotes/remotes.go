// Package remotes opens the remotes that the setting remote names, and is `kernstash remote`. It is
// the only package besides the engines' own that links their clients.
package remotes

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/http"
	"github.com/kernstash/kernstash/store/redis"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/files"
	"github.com/kernstash/kernstash/store/remote/lease"
	"github.com/kernstash/kernstash/store/s3"
	"github.com/kernstash/kernstash/store/tiered"
	"github.com/kernstash/kernstash/trust"
)

// Tier is a remote.
type Tier struct {
	Name    string         // its address without secrets and parameters, for people
	Objects remote.Objects // its engine, which may be a remote.Leaser, too
	Store   *remote.Store  // over the engine
}

// Leaser returns what gives leases there; nil: nothing does.
func (t Tier) Leaser() remote.Leaser {
	l, _ := t.Objects.(remote.Leaser)
	return l
}

// Chain is the remotes that the settings name, the nearest first.
type Chain struct {
	Tiers   []Tier
	Tenant  string
	Sign    ed25519.PrivateKey // signs what is put; nil: nothing does
	Trust   *trust.List        // whose signatures count; nil: none are asked for
	Timeout time.Duration      // of one call

	readOnly bool
	lockers  []*lease.Locker // that Far has made
}

// ErrNone is returned where the settings name no remote.
var ErrNone = errors.New("there is no remote: set KERNSTASH_REMOTE (setting remote; see docs/FLEET.md)")

// Config says what to open.
type Config struct {
	Addresses []string // as the setting remote has them
	Tenant    string
	SignKey   string // file of the private key that signs; "": nothing does
	ReadOnly  bool   // nothing is put
	Trust     *trust.List
	Timeout   time.Duration // of one call
	Log       *slog.Logger  // is told of the first object that nobody trusted has signed; may be nil
}

// Open opens the remotes that the settings name; see [Config.Open].
func Open(s *settings.Settings, rec stats.Recorder) (*Chain, error) {
	if len(s.Remote) == 0 {
		return nil, ErrNone
	}
	return Config{Addresses: s.Remote, Tenant: s.Tenant, SignKey: s.RemoteSignKey, Trust: Trusted(s), Timeout: s.RemoteTimeout}.Open(rec)
}

// Open opens the remotes. It connects to none: that one cannot be reached is an error of its
// methods. No error shows a secret. rec, which may be nil, counts.
func (config Config) Open(rec stats.Recorder) (c *Chain, err error) {
	c = &Chain{Tenant: config.Tenant, Timeout: config.Timeout, Trust: config.Trust, readOnly: config.ReadOnly}
	if c.Sign, err = SignKey(config.SignKey); err != nil {
		return nil, err
	}
	o := config.options(c.Sign)
	o.Recorder = cmp.Or[stats.Recorder](rec, stats.Noop{})
	for _, address := range config.Addresses {
		engine, err := open(address)
		if err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("remote %s: %w", name(address), err)
		}
		c.Tiers = append(c.Tiers, Tier{Name: name(address), Objects: engine, Store: remote.New(engine, o)})
	}
	return c, nil
}

func (config Config) options(sign ed25519.PrivateKey) remote.Options {
	return remote.Options{Tenant: config.Tenant, Sign: sign, Trust: config.Trust, Log: config.Log}
}

// Signer returns what signs, and checks signatures, as the stores of the remotes do; it has none itself.
func (config Config) Signer() (*remote.Store, error) {
	sign, err := SignKey(config.SignKey)
	if err != nil {
		return nil, err
	}
	s := remote.New(nil, config.options(sign))
	return s, config.options(sign).Check()
}

// Far returns the remotes for package tiered. It is called once. Where signatures are asked for and
// there is no key to sign with, nothing is put: an unsigned copy in the nearer remote would be a miss
// for all who ask that first.
func (c *Chain) Far() (all []tiered.Far) {
	readOnly := c.readOnly || c.Sign == nil && c.Trust.IsSet()
	for _, t := range c.Tiers {
		far := tiered.Far{Name: t.Name, Store: t.Store, Timeout: c.Timeout, ReadOnly: readOnly}
		if l := t.Leaser(); l != nil {
			locker := lease.New(l, lease.Options{Name: t.Store.LeaseName, Timeout: c.Timeout})
			c.lockers = append(c.lockers, locker)
			far.Locker = locker
		}
		all = append(all, far)
	}
	return all
}

// Close gives leases back and ends the connections.
func (c *Chain) Close() error {
	var all []error
	for _, l := range c.lockers {
		all = append(all, l.Close())
	}
	for _, t := range c.Tiers {
		all = append(all, t.Objects.Close())
	}
	return errors.Join(all...)
}

// open opens an engine by its address.
func open(address string) (remote.Objects, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	address = strings.ReplaceAll(address, "%2C", ",") // which separates addresses
	switch scheme {
	case "redis", "rediss", "unix":
		return redis.Open(address, redis.Options{})
	case "s3":
		return s3.Open(address, s3.Options{})
	case "http", "https":
		return http.Open(address, http.Options{})
	case "file":
		dir, err := url.PathUnescape(rest)
		if err != nil || !strings.HasPrefix(dir, "/") {
			return nil, errors.New("want file:///DIRECTORY")
		}
		return files.Open(dir)
	}
	return nil, fmt.Errorf("%w: %s://", errors.ErrUnsupported, scheme)
}

// name returns an address for people.
func name(address string) string {
	short, _, _ := strings.Cut(settings.MaskRemote(address), "?")
	return short
}

// SignKey reads the private key that signs; nil for "".
func SignKey(file string) (ed25519.PrivateKey, error) {
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("setting remote-sign-key: %w", err)
	}
	k, err := trust.ParsePrivate(b)
	if err != nil {
		return nil, fmt.Errorf("setting remote-sign-key: %s: %w", file, err)
	}
	return k, nil
}

// Trusted returns the list of keys whose signatures count.
func Trusted(s *settings.Settings) *trust.List {
	if s.Trust == "" {
		return nil
	}
	return trust.Open(s.Trust, s.TrustNamed())
}

// within opens the remotes, for a command, and closes them behind it.
func within(a *cli.App, only string, do func(*Chain) error) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	c, err := Open(s, nil)
	if err != nil {
		return err
	}
	all := c.Tiers
	defer func() {
		c.Tiers = all
		_ = c.Close()
	}()
	if only != "" {
		if c.Tiers = pick(all, only); c.Tiers == nil {
			return cli.Usagef("--remote %s: want its number, 1 to %d, or the beginning of one of its addresses: %s", only, len(all), names(all))
		}
	}
	return do(c)
}

// pick returns the remotes that a number or the beginning of an address means.
func pick(all []Tier, only string) (picked []Tier) {
	for i, t := range all {
		if only == fmt.Sprint(i+1) || strings.HasPrefix(t.Name, only) {
			picked = append(picked, t)
		}
	}
	return picked
}

// named returns an error of a remote with its name, nil for nil.
func named(t Tier, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, remote.ErrUnsupported):
		return fmt.Errorf("%s: it does not list its objects, or not to this user; docs/FLEET.md says how a web server does", t.Name)
	}
	return fmt.Errorf("%s: %w", t.Name, err)
}

// reported reports what was done, which is something even where failed says what ended it.
func reported[T any](a *cli.App, report []T, good bool, failed error, text func()) error {
	if failed != nil && len(report) == 0 {
		return failed
	}
	if err := a.Report(report, good && failed == nil, text); failed == nil || err != nil && !errors.Is(err, cli.ErrFound) {
		return err
	}
	return failed
}

func names(all []Tier) string {
	var text []string
	for _, t := range all {
		text = append(text, t.Name)
	}
	return strings.Join(text, ", ")
}
