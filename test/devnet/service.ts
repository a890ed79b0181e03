import { eachLine, spawnSupervised } from './supervised.ts'

const READY_LIMIT_MS = 60_000
const READY_STEP_MS = 50
/** The service promises to be gone within 10 s of SIGTERM, whatever hangs. */
const STOP_LIMIT_MS = 12_000

export interface ServiceOptions {
  /** Program and arguments, `serve` among them. */
  readonly command: readonly string[]
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>
  /** Ends the waiting for readiness. */
  readonly signal: AbortSignal
}

export interface Service {
  readonly url: string
  readonly apiKey: string
  /** Organization of the key. */
  readonly organizationId: string
  /** Links that sign a browser in once: for the organization, and as the operator. */
  readonly logins: readonly string[]
  readonly pid: number
  /** Resolves to the exit status when the service is gone, for whatever reason. */
  readonly exited: Promise<number>
  stop(): Promise<void>
}

/** Starts the service on an empty database and waits until it is ready; its log goes to our standard error. */
export async function startService({ command, env, signal }: ServiceOptions): Promise<Service> {
  const child = spawnSupervised(command, { env, lastSignal: 'TERM', stderr: 'inherit' })
  const stop = () => child.stop('SIGTERM', STOP_LIMIT_MS)
  const failure = Promise.withResolvers<never>()
  const limit = setTimeout(() => {
    failure.reject(new Error(`Cannot start the service: not ready within ${READY_LIMIT_MS} ms`))
  }, READY_LIMIT_MS)
  const onAbort = () => failure.reject(new Error('Cannot start the service: told to stop'))
  signal.addEventListener('abort', onAbort, { once: true })
  void child.exited.then((status) => {
    failure.reject(new Error(`Cannot start the service: it ended with status ${status}`))
  })
  failure.promise.catch(() => undefined)
  try {
    const announced = await Promise.race([readAnnouncement(child.stdout), failure.promise])
    await Promise.race([becomesReady(announced.url, signal), failure.promise])
    return { ...announced, pid: child.pid, exited: child.exited, stop }
  } catch (error) {
    await stop()
    throw error
  } finally {
    clearTimeout(limit)
    signal.removeEventListener('abort', onAbort)
  }
}

/** The first start prints its address and, once, its key. */
function readAnnouncement(
  stdout: ReadableStream<Uint8Array>,
): Promise<Pick<Service, 'url' | 'apiKey' | 'organizationId' | 'logins'>> {
  return new Promise((resolve) => {
    let url: string | undefined
    let apiKey: string | undefined
    let organizationId: string | undefined
    const logins: string[] = []
    void eachLine(stdout, (line) => {
      url ??= /listens on (http:\/\/\S+)/.exec(line)?.[1]
      apiKey ??= /\bws_sk_[0-9A-Za-z]{24}\b/.exec(line)?.[0]
      organizationId ??= /\borg_[0-9A-Za-z]+\b/.exec(line)?.[0]
      logins.push(...(/\bhttp:\/\/\S+\/login\?\w+/.exec(line) ?? []))
      if (url !== undefined && apiKey !== undefined && organizationId !== undefined) {
        resolve({ url, apiKey, organizationId, logins })
      }
    })
  })
}

async function becomesReady(url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.any([signal, AbortSignal.timeout(2_000)]) })
      // Not listening yet, or too slow: asked again until the limit above.
      .catch(() => undefined)
    if (response?.ok === true) return
    await Bun.sleep(READY_STEP_MS)
  }
}
