# How a node was while it ran: on a recorded laptop whose files change during the run, on this machine, with several ranks.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "its subject is time; check_health runs"
. "$TOP_SRCDIR/tests/run_kit.sh"

# the character model on one thread
short='--batch 2 --seq 64 --warmup 1 --no-floor --no-baseline --threads 1 --json'

# --- a laptop that throttles and loses a sensor while it trains ---
cp -r "$TOP_SRCDIR/tests/fixtures/machines/laptop" tree
chmod -R u+w tree
cpus=tree/sys/devices/system/cpu
: >live
"$DDPBENCH" --batch 2 --seq 64 --warmup 1 --no-floor --no-baseline --threads 1 --json --sysroot tree --time 12 --live 9 \
    >laptop 2>err 9>live &
run=$!
stepping # the first reading was taken before
sleep 1
rm tree/sys/class/hwmon/hwmon1/temp1_input
for count in 1240 1250 1260 1270; do
    echo $count >$cpus/cpu0/thermal_throttle/core_throttle_count.new
    mv $cpus/cpu0/thermal_throttle/core_throttle_count.new $cpus/cpu0/thermal_throttle/core_throttle_count
    sleep 0.7
done
status=0
wait $run || status=$?
is 'trains on a laptop' $status 0
[ $status -eq 0 ] || sed 's/^/# /' err
health=nodes.0.health
is 'the clock has a source' "$(value laptop $health.clock_source)" cpufreq/scaling_cur_freq
is 'the sensor that stands for the processor' "$(value laptop $health.temperature_sensors.0)" 'coretemp Package id 0'
is 'it was at 72 degrees' "$(value laptop $health.series.cpu_degc.0)" 72.0
is 'and vanished' "$(value laptop $health.vanished.0.column)" cpu_degc
readings=$(value laptop $health.sampler.readings)
last=$((readings - 1))
holds "there are readings in between ($readings)" test "$readings" -ge 4
is 'its value is null from then on' "$(value laptop $health.series.cpu_degc.$last)" null
is 'counters are told from the start of the run' "$(value laptop $health.series.core_heat_events.0)" 0
is 'to its end: 1270 - 1234' "$(value laptop $health.series.core_heat_events.$last)" 36
holds 'steps are marked' test "$(value laptop $health.marks.throttled)" -ge 1
step=$(value laptop $health.marked_steps.throttled.0)
is 'the same in the samples' "$(value laptop "samples.$step.marks.0")" throttled
is 'a marked step is no less a step' "$(value laptop summary.step_s.n)" "$(value laptop samples)"
is 'the battery that the laptop runs on' "$(value laptop $health.series.on_battery.0)" true
is 'and its charge' "$(value laptop $health.series.battery_percent.$last)" 83
grade=$(value laptop $health.grade)
holds "throttled on a battery is C or D ($grade)" expr "$grade" : '[CD]$'
holds 'with a reason' grep -q 'slowed itself down because of heat' laptop
holds 'and a remedy' grep -q 'connect it to mains' laptop
is 'another machine tells nothing of other processes here' "$(value laptop $health.series.other_cpus)" null
"$DDPBENCH" --batch 2 --seq 64 --steps 6 --warmup 1 --no-floor --threads 1 --sysroot tree >table 2>err
holds 'the table has the grade' grep -q '^health *[CD]: ' table
holds 'and what to do' grep -q -- '-> connect it to mains' table

# --- a machine without any sensor ---
mkdir -p bare/proc/self bare/sys/devices/system/cpu
echo 'Cpus_allowed_list: 0' >bare/proc/self/status
echo 0 >bare/sys/devices/system/cpu/online
trains blind --sysroot bare --steps 6
for column in clock_hz cpu_degc package_w package_j core_heat_events throttled_periods running_threads on_battery; do
    is "$column is null" "$(value blind $health.series.$column)" null
    holds "$column: there is a reason" grep -q "\"nodes\[0\].health.series.$column\": \"[a-z]" blind
done
is 'nothing vanished' "$(value blind $health.vanished)" 0
grade=$(value blind $health.grade)
holds "who cannot see gives no A ($grade)" expr "$grade" : '[BCD]$'

# --- this machine ---
trains here --time 3
for member in sampler.cpu_s sampler.share_of_cpu sampler.interval_s series.t_s.1; do
    holds "$member is known" awk -v x="$(value here $health.$member)" 'BEGIN { exit !(x + 0 > 0) }'
done
holds 'samples lie within the series' awk -v first="$(value here samples.0.at_s)" \
    -v last="$(value here $health.series.t_s.$(($(value here $health.sampler.readings) - 1)))" \
    'BEGIN { print first, last; exit !(first >= 0 && first < last) }'
is 'the machine did not sleep' "$(value here $health.marks.suspended)" 0
trains few --steps 3
is 'three steps are no ground for a grade' "$(value few $health.grade)" null

# --- ranks that share a node ---
trains two --spawn 2 --steps 6
holds 'the first of them takes the readings' test "$(value two nodes.0.health.sampler.readings)" -ge 2
is 'the second does not' "$(value two nodes.1.health.series)" null
holds 'and says so' grep -q '"nodes\[1\].health.series": "the first rank' two
# shellcheck disable=SC2016 # the inner shell's
holds 'but marks its steps by their times' sh -c 'test "$1" -ge 0 && test "$1" -le 6' sh "$(value two nodes.1.health.marks.stalled)"

# --- a run disturbed from its middle on ---
busy=$(awk '{ print ($1 > 1.0) }' /proc/loadavg)
if [ "$busy" = 0 ]; then
    cpu=$(taskset -pc $$ | sed 's/.*[:,-] *//')
    : >live
    taskset -c "$cpu" "$DDPBENCH" --live 9 --batch 2 --seq 64 --warmup 1 --no-floor --threads 1 --time 12 --json >half 2>err 9>live &
    run=$!
    stepping
    sleep 6
    disturbers=
    for _ in 1 2 3; do
        timeout 100 taskset -c "$cpu" sh -c 'while :; do :; done' &
        disturbers="$disturbers $!"
    done
    status=0
    wait $run || status=$?
    # shellcheck disable=SC2086 # several processes
    kill $disturbers
    wait
    is 'a disturbed run is a run' $status 0
    calm 'and unsteady' test "$(value half unsteady)" = true
    calm 'with both medians' awk -v a="$(value half halves.first_step_s)" -v b="$(value half halves.second_step_s)" \
        'BEGIN { print a, b; exit !(a > 0 && b > 1.1 * a) }'
else
    skip 'a disturbed run is unsteady' 'other programs keep this machine busy'
fi
finish
