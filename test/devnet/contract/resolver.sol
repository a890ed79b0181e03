// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// A resolver of ENS that tells which wallet a name stands for.
contract NameResolver {
    mapping(bytes32 node => address) public addr;

    function set(bytes32 node, address wallet) external {
        addr[node] = wallet;
    }
}

/// A resolver of all names below its own (ENSIP-10): a name stands for the last 20 bytes of the hash of what DNS writes
/// for it, but for those whose first label says something else.
contract WildcardResolver {
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callback, bytes extraData);

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == this.resolve.selector;
    }

    function resolve(bytes calldata name, bytes calldata question) external view returns (bytes memory) {
        require(bytes4(question) == bytes4(keccak256('addr(bytes32)')));
        bytes32 label = keccak256(name[1:1 + uint8(name[0])]);
        if (label == keccak256('offchain')) {
            revert OffchainLookup(address(this), new string[](1), question, this.resolve.selector, name);
        }
        if (label == keccak256('silent')) revert();
        if (label == keccak256('none')) return '';
        if (label == keccak256('short')) return hex'01';
        return abi.encode(address(uint160(uint256(keccak256(name)))));
    }
}
