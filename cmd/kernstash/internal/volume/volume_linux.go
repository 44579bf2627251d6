package volume

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystems are the magic numbers of statfs(2).
var fileSystems = map[int64]Volume{
	unix.EXT4_SUPER_MAGIC:      {Kind: "ext4"},
	unix.XFS_SUPER_MAGIC:       {Kind: "xfs"},
	unix.BTRFS_SUPER_MAGIC:     {Kind: "btrfs"},
	unix.OVERLAYFS_SUPER_MAGIC: {Kind: "overlayfs"},
	unix.F2FS_SUPER_MAGIC:      {Kind: "f2fs"},
	unix.TMPFS_MAGIC:           {Kind: "tmpfs", Memory: true},
	unix.RAMFS_MAGIC:           {Kind: "ramfs", Memory: true},
	unix.NFS_SUPER_MAGIC:       {Kind: "NFS", Network: true},
	unix.SMB_SUPER_MAGIC:       {Kind: "SMB", Network: true},
	unix.SMB2_SUPER_MAGIC:      {Kind: "SMB2", Network: true},
	unix.CIFS_SUPER_MAGIC:      {Kind: "CIFS", Network: true},
	unix.CEPH_SUPER_MAGIC:      {Kind: "Ceph", Network: true},
	unix.AFS_SUPER_MAGIC:       {Kind: "AFS", Network: true},
	unix.V9FS_MAGIC:            {Kind: "9p", Network: true},
	unix.FUSE_SUPER_MAGIC:      {Kind: "FUSE"},
	0x2fc12fc1:                 {Kind: "ZFS"},
	0x0bd00bd0:                 {Kind: "Lustre", Network: true},
	0x47504653:                 {Kind: "GPFS", Network: true},
	0x19830326:                 {Kind: "BeeGFS", Network: true},
}

func of(dir string) (Volume, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return Volume{}, err
	}
	f, known := fileSystems[int64(st.Type)]
	if !known {
		f.Kind = fmt.Sprintf("a file system of type %#x", st.Type)
	}
	f.Free = int64(st.Bavail) * st.Bsize
	return f, nil
}

// writable returns why a directory cannot be written.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
