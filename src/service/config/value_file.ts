import { describeReadError } from './read_file.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Secrets and URLs: each may come from a file that its name with `_FILE` names. */
const FROM_FILES = /^(?:ADMIN_TOKEN|DATABASE_(?:READ_)?URL|PUBLIC_URL|RPC_URL_[^_]+|SOLANA_RPC_URL)$/
const SUFFIX = '_FILE'

/**
 * The environment with the text of each file in place of its name, as Docker and Kubernetes mount secrets. Lines of a
 * file of endpoints are the parts of the list. An empty variable counts as absent.
 */
export function resolveValueFiles(
  environment: Environment,
  readFile: (path: string) => string,
): { readonly env: Environment; readonly mistakes: string[] } {
  const env = { ...environment }
  const mistakes: string[] = []
  for (const [name, path] of Object.entries(environment)) {
    const of = name.slice(0, -SUFFIX.length)
    if (!name.endsWith(SUFFIX) || !FROM_FILES.test(of)) continue
    delete env[name]
    if (path === undefined || path.trim() === '') continue
    if (environment[of]?.trim()) mistakes.push(`${name}: expected either it or ${of}`)
    try {
      const lines = readFile(path.trim())
        .trim()
        .split(/\s*\n\s*/)
      env[of] = lines.join(',')
      if (env[of] === '') mistakes.push(`${name}: the file is empty`)
      if (lines.length > 1 && !of.includes('RPC_URL')) mistakes.push(`${name}: expected a file of one line`)
    } catch (error) {
      mistakes.push(`${name}: ${describeReadError(error)}`)
    }
  }
  return { env, mistakes }
}
