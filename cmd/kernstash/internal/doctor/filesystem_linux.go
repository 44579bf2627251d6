package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystems are the magic numbers of statfs(2).
var fileSystems = map[int64]fileSystem{
	unix.EXT4_SUPER_MAGIC:      {kind: "ext4"},
	unix.XFS_SUPER_MAGIC:       {kind: "xfs"},
	unix.BTRFS_SUPER_MAGIC:     {kind: "btrfs"},
	unix.OVERLAYFS_SUPER_MAGIC: {kind: "overlayfs"},
	unix.F2FS_SUPER_MAGIC:      {kind: "f2fs"},
	unix.TMPFS_MAGIC:           {kind: "tmpfs", memory: true},
	unix.RAMFS_MAGIC:           {kind: "ramfs", memory: true},
	unix.NFS_SUPER_MAGIC:       {kind: "NFS", network: true},
	unix.SMB_SUPER_MAGIC:       {kind: "SMB", network: true},
	unix.SMB2_SUPER_MAGIC:      {kind: "SMB2", network: true},
	unix.CIFS_SUPER_MAGIC:      {kind: "CIFS", network: true},
	unix.CEPH_SUPER_MAGIC:      {kind: "Ceph", network: true},
	unix.AFS_SUPER_MAGIC:       {kind: "AFS", network: true},
	unix.V9FS_MAGIC:            {kind: "9p", network: true},
	unix.FUSE_SUPER_MAGIC:      {kind: "FUSE"},
	0x2fc12fc1:                 {kind: "ZFS"},
	0x0bd00bd0:                 {kind: "Lustre", network: true},
	0x47504653:                 {kind: "GPFS", network: true},
	0x19830326:                 {kind: "BeeGFS", network: true},
}

func fileSystemOf(dir string) (fileSystem, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fileSystem{}, err
	}
	f, known := fileSystems[int64(st.Type)]
	if !known {
		f.kind = fmt.Sprintf("a file system of type %#x", st.Type)
	}
	f.free = int64(st.Bavail) * st.Bsize
	return f, nil
}
