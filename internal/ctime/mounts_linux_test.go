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
		root    = "27 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw,discard\n"
		sealed  = "27 1 254:1 / / ro,relatime - ext4 /dev/vda1 ro\n"
		bound   = "90 27 254:1 /usr /usr ro,relatime shared:1 - ext4 /dev/vda1 rw,discard\n"
		here    = "91 27 0:50 / /merged rw,relatime - overlay overlay rw,lowerdir=/b:/a,upperdir=/up,workdir=/work,xino=off\n"
		newer   = "91 27 0:50 / /merged rw,relatime - overlay overlay rw,lowerdir+=/b,lowerdir+=/a,upperdir=/up,workdir=/work\n"
		onImage = "92 27 0:50 / /merged rw,relatime - overlay overlay rw,lowerdir=/a:/image,upperdir=/up,workdir=/work\n"
		far     = "93 27 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A,upperdir=/var/lib/docker/b\n"
		near    = "94 27 0:50 / / rw,relatime - overlay overlay rw,lowerdir=l/A:l/B,upperdir=/up\n"
		odd     = "95 27 0:50 / /merged rw,relatime - overlay overlay rw,lowerdir=/a\\:b,upperdir=/up\n"
		above   = "96 27 0:51 / /top rw,relatime - overlay overlay rw,lowerdir=/merged,upperdir=/up\n"
		itself  = "97 27 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/merged,upperdir=/merged\n"
	)
	at := map[string]found{
		"/a": {disk, ext, 0}, "/b": {disk, ext, 0}, "/up": {disk, ext, 0},
		"/image": {loop, squash, unix.ST_RDONLY}, "/merged": {none, ovl, 0}, "l/A": {disk, ext, 0}, "l/B": {disk, ext, 0},
	}
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
		"an overlay here":                   {found{none, ovl, 0}, root + here, true, true},
		"an overlay, told anew":             {found{none, ovl, 0}, root + newer, true, true},
		"an overlay on an image":            {found{none, ovl, 0}, root + onImage, false, true},
		"one overlay of two on an image":    {found{none, ovl, 0}, root + here + onImage, false, true},
		"a container's overlay":             {found{none, ovl, 0}, far, false, true},
		"an overlay of relative paths":      {found{none, ovl, 0}, near, false, true},
		"an overlay with escapes":           {found{none, ovl, 0}, odd, false, true},
		"an overlay on an overlay":          {found{none, ovl, 0}, root + here + above, false, true},
		"an overlay of itself":              {found{none, ovl, 0}, itself, false, true},
		"an overlay, no mountinfo":          {found{none, ovl, 0}, "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := false
			m := mounts{read: func() string { read = true; return c.mounts }, statfs: func(p string) (found, bool) {
				f, ok := at[p]
				return f, ok
			}}
			if got := m.trusted(c.of); got != c.want {
				t.Errorf("trusted is %v", got)
			}
			if read != c.reads {
				t.Errorf("mountinfo was read: %v", read)
			}
		})
	}
}
