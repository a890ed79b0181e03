import type { Hex } from 'viem'
import type { Ask, Call, CallResult } from '../../../../support/staged/multicall.ts'

/** Returns the result of a call; must be called after the round has run. */
export type Answer = () => CallResult

/** Calls that are made together, each with a handle to its answer, so that no caller counts indexes. */
export interface Round {
  call(to: Hex, data: Hex): Answer
  run(): Promise<void>
}

/** Makes a round over a way of making many calls. */
export function createRound(ask: Ask): Round {
  const calls: Call[] = []
  let answers: readonly CallResult[] | undefined
  return {
    call(to, data) {
      const at = calls.push({ to, data }) - 1
      return () => {
        const answer = answers?.[at]
        if (answer === undefined) throw new Error('Cannot use an answer before its round has run')
        return answer
      }
    },
    async run() {
      answers = calls.length === 0 ? [] : await ask(calls)
    },
  }
}
