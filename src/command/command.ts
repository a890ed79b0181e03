import type { Readable } from 'node:stream'
import { validateLabel } from '../account/validation.ts'
import type { Config } from '../config/config.ts'
import { CodedError } from '../lib/error.ts'

/** Writes bytes and reports failures. */
export interface Output {
  /** True for a terminal. */
  readonly isTTY: boolean
  /** Resolves when it can take more; rejects with the system's error. */
  write(bytes: Uint8Array): Promise<void>
}

/** Input and output of a command; `main.ts` supplies it. */
export interface CommandIo {
  /** Standard output: answers. */
  readonly out: (text: string) => void
  /** Standard error: one line per failure. */
  readonly err: (text: string) => void
  /** Standard output for bytes. */
  readonly stdout: () => Output
  /** Standard input. */
  readonly stdin: () => Readable & { readonly isTTY?: boolean }
  /** Reads configuration only when a command needs it, so that `--help` always works. */
  readonly config: () => Config
  /** Environment for child processes that start like this one. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Fires on SIGINT or SIGTERM. */
  readonly stop: AbortSignal
}

/** Arguments of one command after its name. */
export interface CommandArgs {
  readonly positionals: readonly string[]
  readonly options: Readonly<Record<string, string | undefined>>
  /** Values of options that may be repeated. */
  readonly lists?: Readonly<Record<string, readonly string[]>>
  /** Options without a value that were given. */
  readonly flags: ReadonlySet<string>
  /** Answer as JSON, for programs. */
  readonly json: boolean
}

/** One command, or one verb of a command: `org create`. */
export interface Command {
  /** Words as typed: `org create`. */
  readonly name: string
  /** Names of the positional arguments, in order: `organization id`; all are required. */
  readonly positionals?: readonly string[]
  /** The option of `options` that must be given. */
  readonly required?: string
  /** Options that take a value, with their meaning. */
  readonly options?: Readonly<Record<string, string>>
  /** Options that take a value and may be repeated, with their meaning. */
  readonly lists?: Readonly<Record<string, string>>
  /** Options that take no value, with their meaning. */
  readonly flags?: Readonly<Record<string, string>>
  /** One line for `--help` and the overview. */
  readonly summary: string
  /** Text that `--help` adds below the options. */
  readonly more?: () => string
  /** A command line that `--help` shows, without the program's name. */
  readonly example?: string
  /** Meaning of `--json`, if it does not print the answer as JSON. */
  readonly json?: string
  /**
   * Does the work; returns the exit status if it is not 0. A thrown error becomes one line on stderr and exit status 1.
   */
  readonly run: (args: CommandArgs, io: CommandIo) => Promise<void> | Promise<number>
}

/** An expected failure of a command, printed as one line. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  /** 2 for a wrong command line. */
  readonly exitStatus: 1 | 2

  constructor(message: string, options: { readonly cause?: unknown; readonly exitStatus?: 1 | 2 } = {}) {
    super(message, options)
    this.exitStatus = options.exitStatus ?? 1
  }
}

/** The error of a wrong command line. */
export function usageError(message: string): CommandError {
  return new CommandError(message, { exitStatus: 2 })
}

/** Reads a whole number such as `1000` or `1_000` within bounds; throws a usage error naming `what`. */
export function parseWhole(
  text: string,
  { what, min, max }: { readonly what: string; readonly min: number; readonly max: number },
): number {
  const digits = text.replaceAll('_', '')
  const value = Number(digits)
  if (/^-?\d{1,15}$/.test(digits) && value >= min && value <= max) return value
  throw usageError(`Cannot read ${what} "${text}": expected a whole number from ${min} to ${max}`)
}

/** Validates a name or a reason with `validateLabel`; throws a usage error naming `what`. */
export function parseLabel(text: string, what: string, max?: number): string {
  try {
    return validateLabel(text, what, max)
  } catch (error) {
    throw error instanceof CodedError ? usageError(error.message) : error
  }
}
