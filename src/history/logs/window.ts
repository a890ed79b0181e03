import type { RefusalReaction } from './refusal.ts'

/** How long ranges of one endpoint may be, for one kind of filter. Pure: every change gives a new one. */
export interface Window {
  /** Blocks to ask for next. */
  readonly blocks: number
  /** The longest range that the endpoint takes, as it said or as its refusals show; undefined if it never refused. */
  readonly cap: number | undefined
  /** How fast it grows: slower once an answer was too long or too late. */
  readonly growth: number
}

/** An answer holds about this many logs: some 1.5 MB, far below what an answer may hold. */
const LOGS_AIM = 2_000
const GROWTH = { first: 4, later: 1.5 } as const
/** Lengths that endpoints without a number in their refusal usually take. */
const USUAL_CAPS = [1_000_000, 500_000, 100_000, 50_000, 20_000, 10_000, 5_000, 3_000, 2_000, 1_000, 500, 100, 10, 5, 1]

/** A window before anything is known, within the cap that other filters have met at the same endpoint. */
export function startWindow(blocks: number, cap: number | undefined): Window {
  return { blocks: Math.min(blocks, cap ?? blocks), cap, growth: GROWTH.first }
}

/** After an answer to a range of `blocks` blocks. */
export function growWindow(
  window: Window,
  { blocks, logs }: { readonly blocks: number; readonly logs: number },
): Window {
  // What a shorter range held says too little about a longer one, unless it held too much already.
  if (blocks < window.blocks && logs < LOGS_AIM) return window
  const dense = logs === 0 ? Number.POSITIVE_INFINITY : (blocks * LOGS_AIM) / logs
  const next = Math.max(window.blocks / 2, Math.min(window.blocks * window.growth, dense))
  return within({ ...window, blocks: Math.ceil(next) })
}

/** After a refusal of a range of `blocks` blocks, or an answer that was too long or too late for us. */
export function shrinkWindow(window: Window, reaction: RefusalReaction, blocks: number): Window {
  if (reaction.kind === 'range') {
    const cap = reaction.blocks ?? USUAL_CAPS.find((usual) => usual < blocks) ?? 1
    return within({ ...window, blocks: Math.min(window.blocks, cap), cap: Math.min(window.cap ?? cap, cap) })
  }
  if (reaction.kind === 'results' || reaction.kind === 'late') {
    const proposed = reaction.kind === 'results' ? reaction.blocks : undefined
    const shorter = Math.min(window.blocks, proposed ?? Math.ceil(blocks / 2))
    return within({ ...window, blocks: shorter, growth: GROWTH.later })
  }
  return window
}

/** The usual length next to `cap`, to try whether a cap is still there. */
export function nextLength(cap: number): number {
  return USUAL_CAPS.findLast((usual) => usual > cap) ?? 2 * cap
}

/** The same window under another cap. */
export function withCap(window: Window, cap: number | undefined): Window {
  return window.cap === cap ? window : within({ ...window, cap })
}

function within(window: Window): Window {
  const { blocks, cap = blocks } = window
  return { ...window, blocks: Math.max(1, Math.min(blocks, cap)) }
}
