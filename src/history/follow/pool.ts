import type { WorkingHistory } from '../metrics.ts'
import type { StreamTarget } from '../stream.ts'
import type { Follower } from './follower.ts'

/** Followers that are kept: callers name some of their contracts, such as vaults that a factory made. */
const FOLLOWERS_MAX = 5_000

/** What a follower follows. */
type FollowerName = Omit<WorkingHistory, 'blocksLeft'>

/**
 * Creates a pool of followers by name. Beyond `followersMax` it drops the idle ones that were used least recently, with what
 * they remember of refusals and failures; those at work stay.
 */
export function createFollowerPool(followersMax = FOLLOWERS_MAX) {
  const members = new Map<string, { readonly name: FollowerName; readonly follower: Follower<never> }>()

  function dropIdle(): void {
    for (const [key, { follower }] of members) {
      if (members.size < followersMax) return
      if (follower.isIdle) members.delete(key)
    }
  }

  return {
    /** Returns the follower of a name, always of the same kind of target; drops others before it is created. */
    use<Target extends StreamTarget>(name: FollowerName, create: () => Follower<Target>): Follower<Target> {
      const key = `${name.stream}:${name.chainId}:${name.contract}`
      const follower: Follower<Target> = members.get(key)?.follower ?? create()
      members.delete(key)
      dropIdle()
      members.set(key, { name, follower })
      return follower
    },
    list: () => [...members.values()],
  }
}
