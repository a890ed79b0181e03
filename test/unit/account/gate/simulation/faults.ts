import { DEADLINE_MS, LEASE_MS, type SimulatedProcess } from './process.ts'
import type { World } from './world.ts'

/** A journal of a dead process is adopted by then. */
const ADOPTED_MS = 2 * LEASE_MS

/** Creates the faults of a world; `send` sends a request to a process. */
export function createFaults(world: World, { send }: { readonly send: (process: SimulatedProcess) => void }) {
  const { clock, random, pick, between, server, disk, processes, counts, faults } = world

  /** Kills a process and later starts another. */
  async function kill(victim: SimulatedProcess): Promise<void> {
    if (victim.state === 'dead' || world.hasFullDisks) return
    counts.kills++
    victim.kill()
    await clock.sleep(between(0, 2_000))
    world.start()
  }

  function sendSome(process: SimulatedProcess): void {
    for (let count = 3; count > 0; count--) send(process)
  }

  const kinds = {
    /** Statements are lost on the way there or back, late, or refused. */
    async trouble() {
      server.setTrouble(between(0.1, 0.8))
      await clock.sleep(between(50, 3_000))
      server.setTrouble(0)
    },
    /** The server is away, and so long that some process dies with voids in its journal. */
    async away() {
      server.setAway(true)
      await clock.sleep(between(50, 2 * DEADLINE_MS))
      if (random() < 0.5) await kill(pick(processes))
      server.setAway(false)
    },
    /** As `away`, and the process that has adopted the journal dies too. */
    async awayLong() {
      server.setAway(true)
      await kill(pick(processes))
      await clock.sleep(ADOPTED_MS)
      for (const each of world.listLiving()) if (random() < 0.7) await kill(each)
      server.setAway(false)
    },
    async crash() {
      server.crash()
      server.setAway(true)
      await clock.sleep(between(50, 1_000))
      server.setAway(false)
    },
    kill: () => kill(pick(processes)),
    /** A process ends as it should, while the server may be away. */
    async leave() {
      const victim = pick(processes)
      const { gate } = victim
      if (gate === undefined || victim.state !== 'running' || world.hasFullDisks) return
      sendSome(victim)
      await clock.sleep(between(0, 20))
      await Promise.race([gate.close(between(0, 2 * DEADLINE_MS)), clock.sleep(3 * DEADLINE_MS)])
      await kill(victim)
    },
    /** A process is stopped for so long that it is taken for dead, resumes, and then dies with new voids. */
    async stop() {
      const victim = pick(processes)
      victim.stop()
      await clock.sleep(between(50, pick([DEADLINE_MS, 2 * ADOPTED_MS])))
      victim.resume()
      if (random() < 0.5) return
      sendSome(victim)
      await clock.sleep(between(0, 50))
      server.setAway(true)
      await clock.sleep(between(0, DEADLINE_MS))
      await kill(victim)
      server.setAway(false)
    },
    async fullDisk() {
      if (!world.hasFullDisks) return
      disk.setFull(true)
      await clock.sleep(between(50, 3_000))
      disk.setFull(false)
    },
  }
  const names = Object.keys(kinds) as (keyof typeof kinds)[]

  /** Counts the fault as active until `work` is over. */
  async function during(work: () => Promise<void>): Promise<void> {
    faults.active++
    await work()
    faults.active--
    faults.lastMs = clock.monotonicMs()
  }

  return {
    /** One random fault, from its begin to its end. */
    strike: () => during(kinds[pick(names)]),
    /** The worst moment to die: just after an answer that promises a void. */
    killSometimes(process: SimulatedProcess): void {
      if (!faults.areOver && random() < 0.05) void during(() => kill(process))
    },
  }
}
