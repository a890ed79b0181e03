// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

interface IArbSys {
    function arbBlockNumber() external view returns (uint256);
    function arbBlockHash(uint256) external view returns (bytes32);
}

/// Number and parent hash of the block that a call sees.
abstract contract BlockHeight {
    uint256 private constant ARB_SYS_GAS = 100_000;

    /// Number of the block and hash of its parent. On Arbitrum the NUMBER opcode gives Ethereum's block number; the
    /// ArbSys precompile gives Arbitrum's own.
    function height() internal view returns (uint256 number, bytes32 parentHash) {
        bool ok;
        (ok, number) = askArbSys(abi.encodeCall(IArbSys.arbBlockNumber, ()));
        if (!ok) return (block.number, blockhash(block.number - 1));
        (, uint256 hash) = askArbSys(abi.encodeCall(IArbSys.arbBlockHash, (number - 1)));
        parentHash = bytes32(hash);
    }

    function askArbSys(bytes memory question) private view returns (bool ok, uint256 value) {
        assembly ("memory-safe") {
            ok := staticcall(ARB_SYS_GAS, 100, add(question, 32), mload(question), 0, 32)
            ok := and(ok, eq(returndatasize(), 32))
            if ok { value := mload(0) }
        }
    }
}
