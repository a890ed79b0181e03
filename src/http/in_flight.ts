/** Requests between their arrival and their answer. */
interface InFlight {
  count(): number
  enter(): void
  leave(): void
  /** True once no request is in flight, false if one still is after `deadlineMs`. */
  idle(deadlineMs: number): Promise<boolean>
}

/** Counts requests in flight, for the overload limit and for a stop that waits for them. */
export function createInFlight(): InFlight {
  let count = 0
  let waiting: (() => void)[] = []
  return {
    count: () => count,
    enter() {
      count += 1
    },
    leave() {
      count -= 1
      if (count > 0 || waiting.length === 0) return
      const told = waiting
      waiting = []
      for (const tell of told) tell()
    },
    idle(deadlineMs) {
      if (count === 0) return Promise.resolve(true)
      return new Promise((resolve) => {
        const timer = setTimeout(() => resolve(false), deadlineMs)
        waiting.push(() => {
          clearTimeout(timer)
          resolve(true)
        })
      })
    },
  }
}
