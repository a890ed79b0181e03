import type { JournalDisk } from '../../../../../src/account/gate/journal_disk.ts'

interface DiskFile {
  readonly inode: number
  text: string
  /** Length of the text that a crash leaves. */
  durableLength: number
  changes: number
}

/** A directory of journals that all processes share. It forgets what was not synced when a process crashes. */
export type Disk = ReturnType<typeof createDisk>

/** Creates an empty disk. */
export function createDisk() {
  const files = new Map<string, DiskFile>()
  let inodes = 0
  let isFull = false

  const requireSpace = () => {
    if (isFull) throw systemError('ENOSPC')
  }
  const requireFile = (path: string) => {
    const file = files.get(path)
    if (file === undefined) throw systemError('ENOENT')
    return file
  }

  return {
    /** Lets every write fail, or no longer. */
    setFull(full: boolean): void {
      isFull = full
    },
    listNames: (): readonly string[] => [...files.keys()],
    /**
     * The disk as one process sees it; `perform` runs each operation, at once or later, unless the process is dead by
     * then. A crash keeps some part of what was appended and not synced: call `crash` with a number from 0 to 1.
     */
    connect(perform: <T>(work: () => T, kind: 'sync' | 'other') => Promise<T>) {
      const opened = new Set<DiskFile>()
      const disk: JournalDisk = {
        makeDirectory: () => perform(requireSpace, 'other'),
        list: () => perform(() => [...files.keys()].map((path) => path.slice(path.lastIndexOf('/') + 1)), 'other'),
        create: (path) =>
          perform(() => {
            requireSpace()
            if (files.has(path)) throw systemError('EEXIST')
            inodes++
            const file: DiskFile = { inode: inodes, text: '', durableLength: 0, changes: 0 }
            files.set(path, file)
            opened.add(file)
            return {
              append: (text: string) =>
                perform(() => {
                  requireSpace()
                  file.text += text
                  file.changes++
                }, 'other'),
              sync: () =>
                perform(() => {
                  file.durableLength = file.text.length
                }, 'sync'),
              touch: () => perform(() => void file.changes++, 'other'),
              truncate: () =>
                perform(() => {
                  file.text = ''
                  file.durableLength = 0
                  file.changes++
                }, 'other'),
              identify: () => perform(() => String(file.inode), 'other'),
              close: () => perform(() => void opened.delete(file), 'other'),
            }
          }, 'other'),
        read: (path) => perform(() => requireFile(path).text, 'other'),
        rename: (path, newPath) =>
          perform(() => {
            files.set(newPath, requireFile(path))
            files.delete(path)
          }, 'other'),
        remove: (path) => perform(() => void files.delete(path), 'other'),
        identify: (path) => perform(() => String(requireFile(path).inode), 'other'),
        readMark: (path) =>
          perform(() => {
            const file = files.get(path)
            return file && `${file.inode} ${file.text.length} ${file.changes}`
          }, 'other'),
        syncDirectory: () => perform(() => {}, 'sync'),
      }
      const crash = (share: number) => {
        for (const file of opened) {
          const lost = file.text.length - file.durableLength
          file.text = file.text.slice(0, file.durableLength + Math.floor(lost * share))
        }
      }
      return { disk, crash }
    },
  }
}

function systemError(code: string): Error {
  return Object.assign(new Error(`The disk refused: ${code}`), { code })
}
