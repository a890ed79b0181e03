// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// Counts and transfers positions as Uniswap V4's manager does, and stores them elsewhere.
contract ShiftedManager {
    uint256[9] private _gap;
    mapping(uint256 => address) public ownerOf;
    mapping(address => uint256) public balanceOf;
    uint256 public nextTokenId = 1;

    event Transfer(address indexed from, address indexed to, uint256 indexed id);

    function mint(address to) external {
        uint256 id = nextTokenId++;
        ownerOf[id] = to;
        balanceOf[to]++;
        emit Transfer(address(0), to, id);
    }
}
