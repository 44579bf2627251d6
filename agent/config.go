package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/kernstash/kernstash/internal/settings"
)

// Config is what the agent's file says, in JSON.
type Config struct {
	Socket  string         `json:"socket"`   // path; "": the default
	Dir     string         `json:"dir"`      // of the node caches; "": the default
	MaxSize string         `json:"max-size"` // of each; "": 20GiB
	MaxPut  string         `json:"max-entry-size"`
	Remote  string         `json:"remote"` // as KERNSTASH_REMOTE; a tenant's own comes first
	Tenants []TenantConfig `json:"tenants"`
}

// TenantConfig is one tenant.
type TenantConfig struct {
	Name   string   `json:"name"`
	Users  []string `json:"users"`  // names, numbers, or "*"
	Groups []string `json:"groups"` // names or numbers
	Write  bool     `json:"write"`
	Remote string   `json:"remote"`
	Sign   string   `json:"sign"`  // path of the private key that uploads are signed with
	Trust  string   `json:"trust"` // path of the list of keys that are trusted
}

// nameOfTenant is what settings.ParseTenant takes.
const nameOfTenant = "up to 64 of a-z, 0-9, '.', '-' and '_', a letter or digit first"

// maxConfig bounds a file of the configuration.
const maxConfig = 1 << 20

// ParseConfig reads a configuration. It knows no field but its own. Errors name the field.
func ParseConfig(r io.Reader) (*Config, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxConfig {
		return nil, fmt.Errorf("more than %d bytes", maxConfig)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	c := new(Config)
	if err := d.Decode(c); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("%s: %s, want %s", wrong.Field, wrong.Value, wrong.Type)
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the configuration")
	}
	return c, nil
}

// Options returns what the configuration says, with the defaults where it says nothing.
// Without tenants the user who runs the agent is one, named "default".
func (c *Config) Options(uid int) (o Options, err error) {
	if o.Dir = c.Dir; !filepath.IsAbs(o.Dir) {
		return o, fmt.Errorf("dir: %q is no absolute path", c.Dir)
	}
	if o.MaxSize, err = size("max-size", c.MaxSize, 20<<30); err != nil {
		return o, err
	}
	if o.MaxPut, err = size("max-entry-size", c.MaxPut, 1<<30); err != nil {
		return o, err
	}
	tenants := c.Tenants
	if len(tenants) == 0 {
		tenants = []TenantConfig{{Name: "default", Users: []string{strconv.Itoa(uid)}, Write: true}}
	}
	for i, t := range tenants {
		field := fmt.Sprintf("tenants[%d]", i)
		if _, err := settings.ParseTenant(t.Name); err != nil {
			return o, fmt.Errorf("%s.name: %q, want %s", field, t.Name, nameOfTenant)
		}
		if slices.ContainsFunc(o.Tenants, func(other Tenant) bool { return other.Name == t.Name }) {
			return o, fmt.Errorf("%s.name: %q is there twice", field, t.Name)
		}
		of := Tenant{Name: t.Name, Write: t.Write, Remote: t.Remote, Sign: t.Sign, Trust: t.Trust}
		if of.Remote == "" {
			of.Remote = c.Remote
		}
		if of.Remote != "" {
			if _, err := settings.ParseRemotes(of.Remote); err != nil {
				return o, fmt.Errorf("%s.remote: %q, want addresses as the setting remote has them", field, settings.MaskRemote(of.Remote))
			}
		}
		if len(t.Users)+len(t.Groups) == 0 {
			return o, fmt.Errorf("%s: neither users nor groups", field)
		}
		for j, name := range t.Users {
			if name == "*" {
				of.Anyone = true
				continue
			}
			id, err := number(name, func() (string, error) { u, err := user.Lookup(name); return idOf(u, err) })
			if err != nil {
				return o, fmt.Errorf("%s.users[%d]: %w", field, j, err)
			}
			of.UIDs = append(of.UIDs, id)
		}
		for j, name := range t.Groups {
			id, err := number(name, func() (string, error) { g, err := user.LookupGroup(name); return gidOf(g, err) })
			if err != nil {
				return o, fmt.Errorf("%s.groups[%d]: %w", field, j, err)
			}
			of.GIDs = append(of.GIDs, id)
		}
		o.Tenants = append(o.Tenants, of)
	}
	return o, nil
}

func idOf(u *user.User, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return u.Uid, nil
}

func gidOf(g *user.Group, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return g.Gid, nil
}

// number reads an id, or has a name looked up.
func number(text string, lookup func() (string, error)) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		if text, err = lookup(); err != nil {
			return 0, err
		}
		if n, err = strconv.ParseUint(text, 10, 32); err != nil {
			return 0, err
		}
	}
	return uint32(n), nil
}

func size(field, text string, otherwise int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := settings.ParseSize(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %q, want a size such as 512MiB or 20GiB", field, text)
	}
	return n, nil
}

// Everybody reports whether users besides uid are tenants.
func (o Options) Everybody(uid int) bool {
	return slices.ContainsFunc(o.Tenants, func(t Tenant) bool {
		return t.Anyone || len(t.GIDs) > 0 || slices.ContainsFunc(t.UIDs, func(u uint32) bool { return u != uint32(uid) })
	})
}
