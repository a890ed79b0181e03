/**
 * Seconds of CPU that this process spends on `work`, the least of `rounds`. For tests of how a cost grows: unlike the
 * time on the clock, it does not grow with what else the machine does.
 */
export async function cpuSeconds(work: () => unknown, rounds = 3): Promise<number> {
  const seconds: number[] = []
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    seconds.push((user + system) / 1e6)
  }
  return Math.min(...seconds)
}
