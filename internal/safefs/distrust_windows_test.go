package safefs

import (
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

func wellKnown(t *testing.T, kind windows.WELL_KNOWN_SID_TYPE) *windows.SID {
	t.Helper()
	sid, err := windows.CreateWellKnownSid(kind)
	must(t, err)
	return sid
}

// TestDistrust: others than the owner, the system and its administrators must
// have no right by which they could change what a directory holds.
func TestDistrust(t *testing.T) {
	t.Parallel()
	me, err := windows.StringToSid("S-1-5-21-1-2-3-1001")
	must(t, err)
	other, err := windows.StringToSid("S-1-5-21-1-2-3-1002")
	must(t, err)
	system, admins := wellKnown(t, windows.WinLocalSystemSid), wellKnown(t, windows.WinBuiltinAdministratorsSid)
	creator := wellKnown(t, windows.WinCreatorOwnerSid)
	type ace struct {
		sid  *windows.SID
		mask windows.ACCESS_MASK
	}
	const all, read = windows.GENERIC_ALL, windows.FILE_GENERIC_READ | windows.FILE_GENERIC_EXECUTE
	usual := []ace{{me, all}, {system, all}, {admins, all}, {creator, all}}
	for name, test := range map[string]struct {
		owner *windows.SID
		aces  []ace
		layer bool
		want  string // in the reason; "": trusted
	}{
		"usual":               {me, usual, false, ""},
		"others read":         {me, append(usual[:4:4], ace{other, read}, ace{wellKnown(t, windows.WinBuiltinUsersSid), read}), false, ""},
		"of another":          {other, usual, false, "belongs to"},
		"of the system":       {system, usual, false, "belongs to"},
		"layer of the system": {system, usual, true, ""},
		"layer of another":    {other, usual, true, "belongs to"},
		"another writes":      {me, append(usual[:4:4], ace{other, windows.FILE_WRITE_DATA}), false, "may write"},
		"another appends":     {me, append(usual[:4:4], ace{other, windows.FILE_APPEND_DATA}), false, "may write"},
		"another deletes":     {me, append(usual[:4:4], ace{other, 0x40}), false, "may write"},
		"another owns":        {me, append(usual[:4:4], ace{other, windows.WRITE_OWNER}), false, "may write"},
		"another permits":     {me, append(usual[:4:4], ace{other, windows.WRITE_DAC}), true, "may write"},
		"everyone writes":     {me, []ace{{wellKnown(t, windows.WinWorldSid), all}}, false, "may write"},
		"users write":         {me, []ace{{wellKnown(t, windows.WinBuiltinUsersSid), windows.FILE_GENERIC_WRITE}}, true, "may write"},
		"authenticated write": {me, []ace{{wellKnown(t, windows.WinAuthenticatedUserSid), windows.GENERIC_WRITE}}, false, "may write"},
		"nobody":              {me, nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var entries []windows.EXPLICIT_ACCESS
			for _, a := range test.aces {
				entries = append(entries, windows.EXPLICIT_ACCESS{
					AccessPermissions: a.mask, AccessMode: windows.GRANT_ACCESS,
					Trustee: windows.TRUSTEE{
						TrusteeForm: windows.TRUSTEE_IS_SID, TrusteeValue: windows.TrusteeValueFromSID(a.sid),
					},
				})
			}
			empty := [8]byte{2, 0, 8} // revision 2, 8 bytes, no entry
			acl := (*windows.ACL)(unsafe.Pointer(&empty))
			if len(entries) > 0 {
				var err error
				acl, err = windows.ACLFromEntries(entries, nil)
				must(t, err)
			}
			got := distrust(test.owner, acl, []*windows.SID{me}, test.layer)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("reason %q, want %q in it", got, test.want)
			}
		})
	}
	if got := distrust(me, nil, []*windows.SID{me}, false); got == "" {
		t.Error("a directory without a list is trusted")
	}
}

// TestDistrustOfADirectory: one's own temporary directory is trusted until
// everybody may write to it.
func TestDistrustOfADirectory(t *testing.T) {
	t.Parallel()
	d, path := openRoot(t, Options{})
	if reason, err := d.Distrust(false); err != nil || reason != "" {
		t.Fatalf("reason %q, error %v", reason, err)
	}
	acl, err := windows.ACLFromEntries([]windows.EXPLICIT_ACCESS{{
		AccessPermissions: windows.GENERIC_ALL, AccessMode: windows.GRANT_ACCESS,
		Trustee: windows.TRUSTEE{
			TrusteeForm: windows.TRUSTEE_IS_SID, TrusteeValue: windows.TrusteeValueFromSID(wellKnown(t, windows.WinWorldSid)),
		},
	}}, nil)
	must(t, err)
	must(t, windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, acl, nil))
	if reason, err := d.Distrust(false); err != nil || !strings.Contains(reason, "may write") {
		t.Errorf("reason %q, error %v; want that everybody may write", reason, err)
	}
}
