import { readFileSync } from 'node:fs'

/** Number of SIGHUP, whose bit in a mask of signals is the lowest one. */
const SIGHUP = 1

/**
 * Calls `onSignal` at SIGINT, SIGTERM and SIGHUP. A handler would undo that `nohup` ignores SIGHUP, so there is none if
 * the process started with it ignored.
 */
export function listenForStop(onSignal: (signal: NodeJS.Signals) => void): void {
  const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', ...(isHangupIgnored() ? [] : ['SIGHUP' as const])]
  for (const signal of signals) process.on(signal, () => onSignal(signal))
}

/** True if the process ignores SIGHUP. False where the system does not tell: only Linux has the file. */
function isHangupIgnored(): boolean {
  try {
    const [, mask = '0'] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    return (BigInt(`0x${mask}`) & BigInt(SIGHUP)) !== 0n
  } catch {
    return false
  }
}
