package safefs

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// writers are the rights by which one can change what a directory holds, or
// give oneself that right.
const writers = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | 0x40 /* FILE_DELETE_CHILD */ |
	windows.DELETE | windows.WRITE_DAC | windows.WRITE_OWNER | windows.GENERIC_WRITE | windows.GENERIC_ALL

// Distrust says why a directory cannot be believed: it belongs to somebody else, or its
// access control list lets others than its owner, the system and its administrators write
// to it. A layer may belong to the system. "" is that it can be believed. Below it nothing
// is looked at: who may write is inherited, and only its writers could have changed that.
func (d Dir) Distrust(layer bool) (string, error) {
	f, err := d.root.Open(d.path)
	if err != nil {
		return "", pathError("open", ".", err)
	}
	defer f.Close()
	sd, err := windows.GetSecurityInfo(windows.Handle(f.Fd()), windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return "", pathError("read the security of", ".", err)
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return "", pathError("read the owner of", ".", err)
	}
	acl, _, err := sd.DACL()
	if err != nil {
		return "", pathError("read the access control list of", ".", err)
	}
	ours, err := currentUsers()
	if err != nil {
		return "", pathError("find the user of", ".", err)
	}
	return distrust(owner, acl, ours, layer), nil
}

// currentUsers returns the user of this process, and who owns what it makes:
// for administrators that may be their group.
func currentUsers() ([]*windows.SID, error) {
	token := windows.GetCurrentProcessToken()
	user, err := token.GetTokenUser()
	if err != nil {
		return nil, err
	}
	ours := []*windows.SID{user.User.Sid}
	var n uint32
	_ = windows.GetTokenInformation(token, windows.TokenOwner, nil, 0, &n)
	if n > 0 {
		b := make([]byte, n)
		if windows.GetTokenInformation(token, windows.TokenOwner, &b[0], n, &n) == nil {
			if owner, err := (*(**windows.SID)(unsafe.Pointer(&b[0]))).Copy(); err == nil {
				ours = append(ours, owner)
			}
		}
	}
	return ours, nil
}

func distrust(owner *windows.SID, acl *windows.ACL, ours []*windows.SID, layer bool) string {
	if owner == nil || !slices.ContainsFunc(ours, owner.Equals) && (!layer || !isSystem(owner)) {
		return fmt.Sprintf("belongs to %s: set a directory of your own", accountName(owner))
	}
	if acl == nil {
		return "has no access control list: everybody may write to it"
	}
	for i := range uint32(acl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(acl, i, &ace); err != nil {
			return fmt.Sprintf("has an access control list that cannot be read: %v", err)
		}
		if ace.Header.AceType == windows.ACCESS_DENIED_ACE_TYPE || ace.Mask&writers == 0 {
			continue
		}
		if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE {
			return fmt.Sprintf("has an entry of type %d in its access control list", ace.Header.AceType)
		}
		sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart))
		ofOwner := sid.IsWellKnown(windows.WinCreatorOwnerSid) || sid.IsWellKnown(windows.WinCreatorOwnerRightsSid)
		if !ofOwner && !slices.ContainsFunc(ours, sid.Equals) && !isSystem(sid) {
			return fmt.Sprintf("%s may write to it; set a directory below %%LocalAppData%%, or take that right away",
				accountName(sid))
		}
	}
	return ""
}

// isSystem reports whether an account is the system, its administrators, or the
// installer that owns Windows: they can do anything anyway.
func isSystem(sid *windows.SID) bool {
	return sid.IsWellKnown(windows.WinLocalSystemSid) || sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) ||
		strings.HasPrefix(sid.String(), "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464")
}

func accountName(sid *windows.SID) string {
	if sid == nil {
		return "nobody"
	}
	if account, domain, _, err := sid.LookupAccount(""); err == nil && account != "" {
		return strings.TrimPrefix(domain+`\`+account, `\`)
	}
	return sid.String()
}
