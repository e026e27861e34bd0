export PYTHONPATH=src PYTHONUNBUFFERED=1
sed -i 's|^typedef long long ptrdiff_t;|typedef decltype((char*)0 - (char*)0) ptrdiff_t;|' src/craton/solvers/shared/machine.h
K="--file src/craton/solvers/fd_elastic/elastic_knobs.cu"
T="timeout 100 python3 bench/tune_streamed.py"
nvidia-smi -L; S=$SECONDS
$T $K --cases float32:4 --vec 4 --blocks 32x2,64x2,32x4,16x4,32x8 --planes 16,32 --threads 0,512,640 --vary HINT=0,1,2 LOCKSTEP=0,1 --out $OUT/f4.json 2>&1 | cut -c1-230; echo "== $((SECONDS-S)) s"
$T $K --cases float32:8 --vec 2,4 --blocks 32x2,64x2,32x4 --planes 32,64 --threads 0,384,512 --vary HINT=0,2 --out $OUT/f8.json 2>&1 | cut -c1-230; echo "== $((SECONDS-S)) s"
$T $K --cases float64:4 --vec 1,2 --blocks 32x2,64x2,32x4 --planes 16,32 --threads 0,384,512 --vary HINT=0,2 --out $OUT/d4.json 2>&1 | cut -c1-230; echo "== $((SECONDS-S)) s"
$T $K --cases float32:4 --vec 4 --left 32 --blocks 32x2,64x2,32x4 --planes 16,32 --threads 0,512 --vary HINT=0,2 --out $OUT/left.json 2>&1 | cut -c1-230; echo "== $((SECONDS-S)) s"
timeout 60 compute-sanitizer --tool memcheck python3 bench/tune_streamed.py --check --cases float32:4 float32:8 float64:4 --blocks 32x2 --planes 16 --threads 512 2>&1 | tail -12; echo "== $((SECONDS-S)) s"
timeout 70 ncu --clock-control none -k 'regex:^(velocity|stress)$' --launch-skip 34 --launch-count 4 --section SpeedOfLight --section MemoryWorkloadAnalysis --section MemoryWorkloadAnalysis_Tables --section WarpStateStats --section Occupancy --section LaunchStats --metrics dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum,l1tex__m_xbar2l1tex_read_bytes.sum,smsp__issue_active.avg.pct_of_peak_sustained_active python3 bench/tune_streamed.py --cases float32:4 --shape 512,512,512 --vec 4 --blocks 32x2 --planes 16 --threads 512 > $OUT/ncu.txt 2>&1; grep -E "velocity|stress|dram__|lts__|l1tex__|issue_active|Throughput|Hit Rate|Duration|Achieved|Registers" $OUT/ncu.txt | cut -c1-140; echo "== $((SECONDS-S)) s"
