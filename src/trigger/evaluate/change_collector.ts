import type { createYielder } from '../../lib/async/cooperative.ts'
import type { TriggerReorgState, TriggerTransition } from '../step.ts'
import { type ApplyStep, type ChangeSource, diffNotified } from './apply.ts'
import { createChangeMessage, type MessageContext } from './change_message.ts'
import type { TriggerChange } from './partition.ts'
import { setReorgState, type WatchedTrigger } from './watchlist.ts'

/** The change of a trigger in memory. */
export type EntryChange = TriggerChange & { readonly entry: WatchedTrigger }

/** Moves triggers in memory, and collects what moved for the commit. */
export interface ChangeCollector {
  readonly apply: ApplyStep
  move(entry: WatchedTrigger, reorgState: TriggerReorgState): void
  /** Reverts all that moved to their stored states. */
  revert(): void
  /** The changes, with their messages. Throws as the sources of the transitions. */
  listChanges(yielder: ReturnType<typeof createYielder>): Promise<readonly EntryChange[]>
}

/** Creates a collector for one block. */
export function createChangeCollector(messageContext: MessageContext): ChangeCollector {
  const moved = new Set<WatchedTrigger>()
  const transitionsByTrigger = new Map<WatchedTrigger, (ChangeSource & { readonly transition: TriggerTransition })[]>()

  function move(entry: WatchedTrigger, reorgState: TriggerReorgState): void {
    moved.add(entry)
    setReorgState(entry, reorgState)
  }

  return {
    apply(entry, { reorgState, transitions }, source) {
      if (reorgState !== entry.reorgState) move(entry, reorgState)
      if (transitions.length === 0) return
      transitionsByTrigger.set(entry, [
        ...(transitionsByTrigger.get(entry) ?? []),
        ...transitions.map((transition) => ({ ...source, transition })),
      ])
    },
    move,
    revert() {
      for (const entry of moved) revertToStored(entry)
    },
    async listChanges(yielder) {
      const changes: EntryChange[] = []
      for (const entry of moved) {
        if (yielder.isDue()) await yielder.take()
        const { trigger, stored, reorgState } = entry
        const messages = []
        for (const { cited, ...change } of transitionsByTrigger.get(entry) ?? []) {
          messages.push(createChangeMessage(messageContext, { trigger, ...change, cited: await cited() }))
        }
        const [before, after] = [stored.state, reorgState.state]
        changes.push({ entry, trigger, before, after, messages, ...diffNotified(stored, reorgState) })
      }
      return changes
    },
  }
}

/** Reverts a trigger to its stored state; it is evaluated again. */
export function revertToStored(entry: WatchedTrigger): void {
  setReorgState(entry, entry.stored)
  entry.subject.isDue = true
}
