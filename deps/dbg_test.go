package deps
import ("testing";"os")
func TestDbg(t *testing.T){
 code:=[]byte(os.Getenv("DBG")+"\n")
 words:=[]string{"-DTHRUST_HOST_SYSTEM=THRUST_HOST_SYSTEM_CPP", "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP"}
 sys:=clangSystem(t,"-x","c++","-std=c++17")
 tr:=&tracker{}
 _=tr
 wd:=t.TempDir()
 for i:=0;i<1;i++{
 g,r:=Track(key_(code),words,Search{Dir:wd,Main:wd,System:sys})
 t.Log(r)
 if g!=nil { t.Log(len(g.Unit.Files), len(g.Manifest.probes), g.Unit.Dir) }
 }
}
