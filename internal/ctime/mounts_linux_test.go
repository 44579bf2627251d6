package ctime

import (
	"testing"

	"golang.org/x/sys/unix"
)

const (
	ext    = unix.EXT4_SUPER_MAGIC
	ovl    = unix.OVERLAYFS_SUPER_MAGIC
	squash = unix.SQUASHFS_MAGIC
	fuse   = unix.FUSE_SUPER_MAGIC
	nfs    = unix.NFS_SUPER_MAGIC
	v9fs   = unix.V9FS_MAGIC
	vfat   = unix.MSDOS_SUPER_MAGIC
)

func TestTrustedFileSystems(t *testing.T) {
	t.Parallel()
	disk, loop, none := unix.Mkdev(254, 1), unix.Mkdev(7, 0), unix.Mkdev(0, 50)
	const (
		root   = "27 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw,discard\n"
		sealed = "27 1 254:1 / / ro,relatime - ext4 /dev/vda1 ro\n"
		bound  = "90 27 254:1 /usr /usr ro,relatime shared:1 - ext4 /dev/vda1 rw,discard\n"
		here   = "91 27 0:50 / /merged rw,relatime - overlay overlay rw,lowerdir=/b:/a,upperdir=/up,workdir=/work,xino=off\n"
	)
	for name, c := range map[string]struct {
		of     found
		mounts string
		want   bool
		reads  bool // mountinfo
	}{
		"ext4":                              {found{disk, ext, 0}, "", true, false},
		"xfs":                               {found{disk, unix.XFS_SUPER_MAGIC, 0}, "", true, false},
		"btrfs":                             {found{none, unix.BTRFS_SUPER_MAGIC, 0}, "", true, false},
		"tmpfs":                             {found{none, unix.TMPFS_MAGIC, 0}, "", true, false},
		"zfs":                               {found{none, 0x2fc12fc1, 0}, "", true, false},
		"squashfs":                          {found{loop, squash, unix.ST_RDONLY}, "", false, false},
		"squashfs on a partition":           {found{disk, squash, unix.ST_RDONLY}, "", false, false},
		"erofs":                             {found{disk, unix.EROFS_SUPER_MAGIC_V1, unix.ST_RDONLY}, "", false, false},
		"iso9660":                           {found{disk, unix.ISOFS_SUPER_MAGIC, unix.ST_RDONLY}, "", false, false},
		"vfat":                              {found{disk, vfat, 0}, "", false, false},
		"fuse":                              {found{none, fuse, 0}, "", false, false},
		"nfs":                               {found{none, nfs, 0}, "", false, false},
		"9p":                                {found{none, v9fs, 0}, "", false, false},
		"cifs":                              {found{none, unix.SMB2_SUPER_MAGIC, 0}, "", false, false},
		"lustre":                            {found{none, 0x0bd00bd0, 0}, "", false, false},
		"gpfs":                              {found{none, 0x47504653, 0}, "", false, false},
		"an ext4 image":                     {found{loop, ext, 0}, root, false, false},
		"a sealed ext4":                     {found{disk, ext, unix.ST_RDONLY}, sealed, false, true},
		"a read-only view of a written one": {found{disk, ext, unix.ST_RDONLY}, bound, true, true},
		"read-only and not listed":          {found{none, ext, unix.ST_RDONLY}, root, false, true},
		"an overlay":                        {found{none, ovl, 0}, root + here, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := false
			got := trusted(c.of, func() string {
				read = true
				return c.mounts
			})
			if got != c.want {
				t.Errorf("trusted is %v", got)
			}
			if read != c.reads {
				t.Errorf("mountinfo was read: %v", read)
			}
		})
	}
}
