export PYTHONPATH=src PYTHONUNBUFFERED=1
sed -i 's|^typedef long long ptrdiff_t;|typedef decltype((char*)0 - (char*)0) ptrdiff_t;|' src/craton/solvers/shared/machine.h
K="--file src/craton/solvers/fd_elastic/elastic_knobs.cu"
T="timeout 100 python3 bench/tune_streamed.py"; S=$SECONDS
B=32x4,64x2,64x4,32x8,128x2,32x16,64x8,128x4
$T $K --cases float32:4 --vec 4 --blocks 32x2,128x1,$B --planes 16,32 --threads 0,384,512 --vary LOCKSTEP=0,1 --out $OUT/f4.json >$OUT/f4.txt 2>&1; echo "== $((SECONDS-S)) s"
$T $K --cases float32:8 --vec 2,4 --blocks $B --planes 32,64 --threads 0,384,512 --vary LOCKSTEP=0,1 --out $OUT/f8.json >$OUT/f8.txt 2>&1; echo "== $((SECONDS-S)) s"
$T $K --cases float64:4 --vec 1,2 --blocks $B --planes 16,32 --threads 0,256,384 --vary LOCKSTEP=0,1 --out $OUT/d4.json >$OUT/d4.txt 2>&1; echo "== $((SECONDS-S)) s"
$T $K --cases float32:2 float32:6 float64:2 float64:6 float64:8 --blocks 32x4,64x2,64x4 --planes 32 --threads 0,256,384,512 --vary LOCKSTEP=0,1 --out $OUT/rest.json >$OUT/rest.txt 2>&1; echo "== $((SECONDS-S)) s"
N="timeout 60 ncu --clock-control none -k regex:^(velocity|stress)$ --launch-skip 41 --launch-count 2 --section SpeedOfLight --section MemoryWorkloadAnalysis --section Occupancy --metrics dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum,l1tex__m_xbar2l1tex_read_bytes.sum,smsp__issue_active.avg.pct_of_peak_sustained_active python3 bench/tune_streamed.py $K --shape 512,512,512"
G="velocity|stress|dram__|lts__|l1tex__|issue_active|Throughput|Hit Rate|Duration|Achieved Occ"
for c in "float32:4 --vec 4 --blocks 64x2 --planes 16 --threads 512 --vary LOCKSTEP=1" "float32:8 --vec 4 --blocks 64x4 --planes 64 --threads 0 --vary LOCKSTEP=1" "float32:8 --vec 2 --blocks 64x4 --planes 64 --threads 512 --vary LOCKSTEP=1"; do echo "## $c"; $N --cases $c 2>&1 | grep -E "$G"; done > $OUT/ncu.txt; echo "== $((SECONDS-S)) s"
for f in f4 f8 d4 rest; do head -c 1500 $OUT/$f.txt | head -4; grep -E "best|Error|plain" $OUT/$f.txt; done
cut -c1-110 $OUT/ncu.txt
